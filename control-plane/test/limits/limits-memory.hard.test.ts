import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MEGABYTE = 1_000_000;
/** Without bounds V8 lets garbage grow to several times the live memory. */
const HEAP = ['--max-old-space-size=112', '--max-semi-space-size=8'];

interface Report {
  readonly held: {
    readonly entries: number;
    readonly bytes: number;
    readonly residentBytes: number;
    readonly victimIsLockedOut: boolean;
    readonly guesserHasNoGuessLeft: boolean;
  };
  readonly left: { readonly entries: number; readonly bytes: number };
}

test('a million addresses and a million keys take less than 200 MB, expire, and free no caller from its lockout', () => {
  const flood = fileURLToPath(new URL('flood-limiter.ts', import.meta.url));
  const report = execFileSync(process.execPath, [...HEAP, flood], { encoding: 'utf8' });
  process.stdout.write(`${report}\n`);
  const { held, left } = JSON.parse(report) as Report;
  expect(held.bytes / MEGABYTE).toBeLessThan(200);
  // As the system sees it, with garbage that is not collected yet.
  expect(held.residentBytes / MEGABYTE).toBeLessThan(200);
  expect(held.entries).toBeGreaterThan(100_000);
  expect(held).toMatchObject({ victimIsLockedOut: true, guesserHasNoGuessLeft: true });
  expect(left.entries).toBe(0);
  expect(left.bytes / MEGABYTE).toBeLessThan(20);
});
