import { readdir, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { cwd, platform } from 'node:process';
import { usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { plainLine } from '../../output/plain-line.ts';
import { systemReason } from '../../system-reason.ts';
import type { Kind, Source } from './finding.ts';

export interface SourceOptions {
  readonly from?: readonly string[];
  readonly kind?: readonly Kind[];
}

/** `.env`, `.env.local`, `.env.production`; not those that are made to be copied. */
const ENV_FILE = /^\.env(?:\.(?!.*(?:example|sample|template|dist|defaults)$)[^/]+)?$/;
/** Of configurations in a project: the same file may be any client's. */
const MCP_IN_PROJECT: readonly (readonly [path: string, client: string])[] = [
  ['.mcp.json', 'claude'],
  ['mcp.json', 'mcp'],
  ['.cursor/mcp.json', 'cursor'],
  ['.vscode/mcp.json', 'vscode'],
];

/**
 * Where credentials may be: files of the folder and of the user, or those that are named. Each path is there once; those of the
 * user need not exist.
 * @throws Failure usage for a name of which no kind is known, or that is not there
 */
export async function sourcesOf(
  invocation: Invocation,
  { from, kind }: SourceOptions,
): Promise<readonly Source[]> {
  const all =
    from === undefined
      ? [...(await inProject(cwd())), ...ofUser(invocation)]
      : (await Promise.all(from.map((path) => namedBy(resolve(path), kind)))).flat();
  const wanted = all.filter((source) => kind === undefined || kind.includes(source.kind));
  return [...new Map(wanted.map((source) => [source.path, source])).values()];
}

async function inProject(folder: string): Promise<readonly Source[]> {
  const names = await readdir(folder).catch(() => []);
  const project = basename(folder);
  return [
    ...names
      .filter((name) => ENV_FILE.test(name))
      .map((name) => source('env', join(folder, name), envLabel(name))),
    ...MCP_IN_PROJECT.map(([path, client]) => source('mcp', join(folder, path), `${project}-${client}`)),
    source('npmrc', join(folder, '.npmrc'), project),
  ];
}

/** `.env.local`: `local`. */
const envLabel = (name: string): string => name.replace(/^\.env\.?|\.env$/, '') || 'env';

/** Where each program looks. A variable counts for the programs that read it. */
function ofUser({ env }: Invocation): readonly Source[] {
  const home = homeOf(env);
  const config = folderOf(env['XDG_CONFIG_HOME']) ?? join(home, '.config');
  // Electron's programs follow XDG_CONFIG_HOME on Linux alone.
  const applications = platform === 'darwin' ? join(home, 'Library/Application Support') : config;
  const claude = folderOf(env['CLAUDE_CONFIG_DIR']) ?? home;
  const aws = folderOf(env['AWS_SHARED_CREDENTIALS_FILE']) ?? join(home, '.aws/credentials');
  const gh = folderOf(env['GH_CONFIG_DIR']) ?? join(config, 'gh');
  return [
    source('mcp', join(claude, '.claude.json'), 'claude'),
    source('mcp', join(applications, 'Claude/claude_desktop_config.json'), 'claude-desktop'),
    source('mcp', join(home, '.cursor/mcp.json'), 'cursor'),
    source('mcp', join(applications, 'Code/User/mcp.json'), 'vscode'),
    source('aws', aws, 'aws'),
    source('gh', join(gh, 'hosts.yml'), 'gh'),
    source('netrc', folderOf(env['NETRC']) ?? join(home, '.netrc'), 'netrc'),
    source('npmrc', folderOf(env['NPM_CONFIG_USERCONFIG']) ?? join(home, '.npmrc'), 'npm'),
  ];
}

/** The user's home folder, whose files are looked through. */
export const homeOf = (env: Invocation['env']): string => folderOf(env['HOME']) ?? homedir();

const folderOf = (text: string | undefined): string | undefined =>
  text === undefined || text === '' ? undefined : resolve(text);

const source = (kind: Kind, path: string, label: string, isNamed = false): Source => ({
  ...{ kind, path, label, isNamed },
  folder: basename(dirname(path)),
});

const KIND_BY_NAME: readonly (readonly [RegExp, Kind])[] = [
  [/^\.env|\.env$/, 'env'],
  [/\.jsonc?$/, 'mcp'],
  [/^credentials$/, 'aws'],
  [/^hosts\.ya?ml$/, 'gh'],
  [/^[._]?netrc$/, 'netrc'],
  [/^\.?npmrc$/, 'npmrc'],
];

async function namedBy(path: string, kinds: readonly Kind[] = []): Promise<readonly Source[]> {
  if (await isFolder(path)) return inProject(path);
  const name = basename(path);
  const [only] = kinds.length === 1 ? kinds : [];
  const kind = only ?? KIND_BY_NAME.find(([form]) => form.test(name))?.[1];
  if (kind === undefined)
    throw usage(`what is in ${plainLine(path)} is not known by its name: give --kind as well`);
  const label = kind === 'env' ? envLabel(name) : basename(dirname(path));
  return [source(kind, path, label, true)];
}

async function isFolder(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (error) {
    throw usage(`${plainLine(path)} cannot be read: ${systemReason(error)}`);
  }
}
