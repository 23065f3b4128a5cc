import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Where toolchains keep what they downloaded and compiled, so that only the first run pays for it. */
export const CACHE = join(ROOT, 'node_modules/.cache/svault-clients');

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program without the machine's proxies and settings. */
export async function run(
  [program = '', ...args]: readonly string[],
  options: { readonly cwd?: string; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Finished> {
  const { HOME = '' } = process.env;
  const child = spawn(program, args, {
    env: { PATH: MACHINE_PATH, HOME, NO_PROXY: '*', ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(options.cwd !== undefined && { cwd: options.cwd }),
  });
  const [[code], out, err] = await Promise.all([
    once(child, 'close') as Promise<[number | null]>,
    child.stdout.setEncoding('utf8').toArray() as Promise<string[]>,
    child.stderr.setEncoding('utf8').toArray() as Promise<string[]>,
  ]);
  return { code, stdout: out.join(''), stderr: err.join('') };
}

/**
 * Runs a step of a test's set-up with the machine's own environment.
 * @returns what it wrote, without the last line break
 * @throws Error with what it wrote
 */
export async function mustRun(
  command: readonly string[],
  options: { readonly cwd?: string } = {},
): Promise<string> {
  const { code, stdout, stderr } = await run(command, {
    ...options,
    env: { ...ENVIRONMENT, PATH: MACHINE_PATH },
  });
  if (code !== 0) throw new Error(`${command.join(' ')} failed:\n${stdout}${stderr}`);
  return stdout.trimEnd();
}

export const isInstalled = (...[program = '', ...args]: readonly string[]): boolean =>
  spawnSync(program, args, { stdio: 'ignore', env: { ...process.env, PATH: MACHINE_PATH } }).status === 0;

const ENVIRONMENT = process.env as Readonly<Record<string, string>>;

/** The machine's own Node comes before the one among the packages, since agents run on what is there. */
const MACHINE_PATH = [...(process.env['PATH'] ?? '').split(delimiter)]
  .toSorted((a, b) => Number(isOfPackages(a)) - Number(isOfPackages(b)))
  .join(delimiter);

function isOfPackages(folder: string): boolean {
  return folder.includes(`${sep}node_modules${sep}`) || folder.endsWith(`${sep}node-gyp-bin`);
}
