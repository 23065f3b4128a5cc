import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { toBase64url } from '@svault/shared';
import { describe, expect, test } from 'vitest';
import { HOSTILE_SERVERS } from '../fixtures/hostile-servers.ts';

const BIN = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
const TWO_MINUTES_MS = 120_000;
/** Of the whole process; Node alone takes 60. */
const MAX_RESIDENT_MIB = 500;
const TARGET = `--service-url https://service.example`;
const WAYS = {
  bound: ['--webhook-id', 'whk_1', '--key-id', 'k1', '--secret', toBase64url(Buffer.alloc(32, 7))],
  invited: ['--code', '0b5e0bb5-8e4c-4d0f-9a55-3c1c3a4c7d10', '--hmac-hash', 'a'.repeat(64)],
} as const;
/** Runs before the program, and says at its end how much memory it had at most. */
const TELLS_MEMORY = `data:text/javascript,process.on('exit',()=>process.stderr.write('resident '+process.resourceUsage().maxRSS+' KiB\\n'))`;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly residentMib: number;
}

async function runAsAnyoneDoes(url: string, way: keyof typeof WAYS): Promise<Ended> {
  const args = ['--import', TELLS_MEMORY, BIN, '--webhook-url', url, ...TARGET.split(' '), ...WAYS[way]];
  const ended = await promisify(execFile)(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
  const kib = Number(/resident (\d+) KiB/.exec(ended.stderr)?.[1]);
  return { code: ended.code, stdout: ended.stdout, residentMib: kib / 1024 };
}

describe.each(Object.entries(HOSTILE_SERVERS))('a server that %s', (_, start) => {
  test.each(['bound', 'invited'] as const)(
    'gets a report and exit 1 within two minutes and bounded memory, having been %s',
    async (way) => {
      const server = await start();
      const from = performance.now();
      try {
        const { code, stdout, residentMib } = await runAsAnyoneDoes(server.url, way);
        expect(code).toBe(1);
        expect(stdout.trimEnd().split('\n').at(-1)).toMatch(/^\d+ passed, \d+ failed, /);
        expect(residentMib).toBeLessThan(MAX_RESIDENT_MIB);
        expect(performance.now() - from).toBeLessThan(TWO_MINUTES_MS);
      } finally {
        await server.close();
      }
    },
  );
});
