import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Pair, startPair } from '../src/pair.ts';
import type { ProgramName } from '../src/program-process.ts';

const dir = tempDir();
const lines: Record<ProgramName, string[]> = { 'control-plane': [], webhook: [] };
let pair: Pair;

/** Says each file that a program loads, before it does. */
const PRINTER = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({ load: (url, context, next) => (writeSync(2, 'loads ' + url + '\\n'), next(url, context)) });
`)}`;

beforeAll(async () => {
  pair = await startPair({
    dir: dir.path,
    env: { NODE_OPTIONS: `--import "${PRINTER}"`, SV_LOG_LEVEL: 'warn' },
    onLine: (program, line) => lines[program].push(line),
  });
});
afterAll(async () => {
  await pair?.stop();
  dir.remove();
});

/** The files that a program has loaded by now. */
const filesOf = (program: ProgramName): readonly string[] =>
  lines[program]
    .flatMap((line) => /^loads (file:.*)$/.exec(line)?.[1] ?? [])
    .map((url) => fileURLToPath(url));

/** The packages whose code is in these files: esbuild says above each module where it was. */
function packagesIn(files: readonly string[]): ReadonlySet<string> {
  const paths = files.flatMap((file) => [
    file,
    ...[...readFileSync(file, 'utf8').matchAll(/^ *\/\/ (\S*node_modules\/\S+)$/gm)].map(
      ([, path = '']) => path,
    ),
  ]);
  return new Set(paths.flatMap((path) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
}

/** Of both programs, or of the other one, or for what an operator or a request asks for. */
const LOADED_WHEN_USED = [
  '@aws-sdk/client-sts',
  '@modelcontextprotocol/server',
  '@node-rs/argon2',
  'iconv-lite',
  'ioredis',
  'jose',
  'mmdb-lib',
  'openid-client',
  'pg',
  'pino-pretty',
  'prom-client',
  'zod-openapi',
];

describe.each(['control-plane', 'webhook'] as const)('the %s, bound and idle', (program) => {
  test('has read three dozen files at most, and none of its sources', () => {
    const files = filesOf(program);
    expect(files).toContain(join(dirname(dirname(import.meta.dirname)), program, 'dist/main.js'));
    expect(files.filter((path) => path.endsWith('.ts'))).toEqual([]);
    expect(files.length).toBeLessThan(40);
  });

  test('has loaded what every request needs, and no library that only some do', () => {
    const packages = packagesIn(filesOf(program));
    expect([...packages]).toEqual(expect.arrayContaining(['zod', 'express', 'pino', 'better-sqlite3']));
    expect(LOADED_WHEN_USED.filter((name) => packages.has(name))).toEqual([]);
  });

  test('comes with the license of each package whose code is in it', () => {
    const folder = join(dirname(dirname(import.meta.dirname)), program, 'dist');
    const licenses = readFileSync(join(folder, 'THIRD-PARTY-LICENSES.txt'), 'utf8');
    const installed = ['better-sqlite3', 'libsodium', 'libsodium-wrappers'];
    for (const name of packagesIn(filesOf(program)))
      if (!installed.includes(name)) expect(licenses).toMatch(new RegExp(`^${name} \\d`, 'm'));
    expect(existsSync(join(folder, 'checkpoint-worker.mjs'))).toBe(true);
  });
});
