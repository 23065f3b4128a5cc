import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { SettingsError } from '@svault/server-kit/settings';
import { controlPlaneConfig } from '../src/config/config.ts';

const README = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** Every name that the program asks its environment for. */
function namesRead(): readonly string[] {
  const names = new Set<string>();
  const env = new Proxy<NodeJS.ProcessEnv>({}, { get: (_, name) => void names.add(String(name)) });
  expect(() => controlPlaneConfig(env)).toThrow(SettingsError);
  return [...names].toSorted();
}

/** Every name that the table tells, with its `_FILE` twin where the last column says yes. */
function namesTold(): readonly string[] {
  const rows = README.split('\n').flatMap((line) => {
    const [, name] = /^\| `(SV_\w+)` /.exec(line) ?? [];
    if (name === undefined) return [];
    return line.endsWith(' yes |') ? [name, `${name}_FILE`] : [name];
  });
  return rows.toSorted();
}

test('the table of settings names what the program reads, and nothing else', () => {
  expect(namesTold()).toEqual(namesRead());
});

test('the table of subcommands names every one', () => {
  const { stdout } = spawnSync(process.execPath, [MAIN, '--help'], { encoding: 'utf8' });
  const usages = [...stdout.matchAll(/^ {2}(\S+(?: [a-z]\S*)?)/gm)].map(([, name = '']) => name);
  const told = [...README.matchAll(/^\| `npx node control-plane\/src\/main\.ts ([a-z-]+(?: verify)?)/gm)];
  expect(told.map(([, name = '']) => name).toSorted()).toEqual(usages.toSorted());
});
