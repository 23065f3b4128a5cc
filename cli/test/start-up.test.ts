import { afterAll, expect, test } from 'vitest';
import { BIN, commandLine } from './command-line.ts';

/** What a start loads is what it costs: `--help` has 150 ms, `get` 250 ms (`npm run bench -- --only cli` measures them). */
const user = commandLine();
afterAll(() => user.remove());

const PRINTER = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
import { writeSync } from 'node:fs';
registerHooks({ load: (url, context, next) => (writeSync(2, 'loads ' + url + '\\n'), next(url, context)) });
`)}`;

/** Packages, and folders of ours, that a command line loads. */
async function loadedBy(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Set<string>> {
  const program = [process.execPath, '--import', PRINTER, BIN] as const;
  const { err } = await user.spawned(args, { program, env });
  const urls = [...err.matchAll(/^loads (file:.*)$/gm)].map(([, url = '']) => url);
  return new Set(
    urls.map(
      (url) =>
        /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ??
        /.*\/((?:cli|shared)\/src|compose\/src\/.*)/.exec(url)?.[1] ??
        url,
    ),
  );
}

test('--help loads commander and what declares the commands', async () => {
  const loaded = await loadedBy(['--help']);
  const manifest = [...loaded].filter((each) => each.endsWith('/cli/package.json'));
  // The names of the tunnels, which `webhook init --method` takes, and nothing else of what writes projects.
  const names = 'compose/src/webhook-project/tunnel-methods.ts';
  expect([...loaded].toSorted()).toEqual(['cli/src', 'commander', names, ...manifest].toSorted());
});

test('get loads nothing that only tables, prompts, locks, sealed credentials or kept logins need', async () => {
  const loaded = await loadedBy(['get', 'mail'], {
    SVAULT_BASE_URL: 'http://127.0.0.1:1',
    SVAULT_KEY: `svagent_${'A'.repeat(43)}`,
  });
  expect(loaded).toContain('zod');
  for (const slow of [
    'string-width',
    'proper-lockfile',
    'jose',
    '@napi-rs/keyring',
    'env-paths',
    'jsonc-parser',
    'yaml',
  ])
    expect(loaded).not.toContain(slow);
});
