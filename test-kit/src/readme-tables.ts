import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { namesAskedFor } from './program-settings.ts';

/** What a server's README tells, and what the server really has; a test compares the two. */
export interface ReadmeTables {
  readonly settingsTold: readonly string[];
  readonly settingsRead: readonly string[];
  readonly subcommandsTold: readonly string[];
  readonly subcommandsThere: readonly string[];
}

/**
 * @param folder the server's folder in the workspace
 * @param readSettings the server's settings reader; it may refuse the empty environment that it is given
 */
export function readmeTables(
  folder: 'control-plane' | 'webhook',
  readSettings: (env: NodeJS.ProcessEnv) => unknown,
): ReadmeTables {
  const root = new URL(`../../${folder}/`, import.meta.url);
  const readme = readFileSync(new URL('README.md', root), 'utf8');
  const main = fileURLToPath(new URL('src/main.ts', root));
  const { stdout } = spawnSync(process.execPath, [main, '--help'], { encoding: 'utf8' });
  const called = new RegExp(String.raw`^\| \`npx node ${folder}/src/main\.ts ([a-z-]+(?: verify)?)`, 'gm');
  return {
    settingsTold: settingsIn(readme).toSorted(),
    settingsRead: namesAskedFor(readSettings).toSorted(),
    subcommandsTold: firstGroups(readme.matchAll(called)),
    subcommandsThere: firstGroups(stdout.matchAll(/^ {2}(\S+(?: [a-z]\S*)?)/gm)),
  };
}

/** Every name of the table, with its `_FILE` twin where the last column says yes. */
function settingsIn(readme: string): string[] {
  return readme.split('\n').flatMap((line) => {
    const name = /^\| `(SV_\w+)` /.exec(line)?.[1];
    if (name === undefined) return [];
    return line.endsWith(' yes |') ? [name, `${name}_FILE`] : [name];
  });
}

const firstGroups = (matches: Iterable<RegExpMatchArray>): string[] =>
  [...matches].map(([, group = '']) => group).toSorted();
