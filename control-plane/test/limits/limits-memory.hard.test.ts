import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const MEGABYTE = 1_000_000;
/** Left to itself, V8 lets garbage grow to several times what is held where the machine has room. */
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

test('a million addresses and a million keys cost the process under 200 MB, are forgotten, and free nobody', () => {
  const flood = fileURLToPath(new URL('flood-limiter.ts', import.meta.url));
  const report = execFileSync(process.execPath, [...HEAP, flood], { encoding: 'utf8' });
  process.stdout.write(`${report}\n`);
  const { held, left } = JSON.parse(report) as Report;
  expect(held.bytes / MEGABYTE).toBeLessThan(200);
  // As the system sees it, with what the collector has not come to yet.
  expect(held.residentBytes / MEGABYTE).toBeLessThan(200);
  expect(held.entries).toBeGreaterThan(100_000);
  expect(held).toMatchObject({ victimIsLockedOut: true, guesserHasNoGuessLeft: true });
  expect(left.entries).toBe(0);
  expect(left.bytes / MEGABYTE).toBeLessThan(20);
});
