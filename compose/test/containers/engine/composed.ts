import { execFile } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programEnv } from '@svault/test-kit/program-env';
import { tempDir } from '@svault/test-kit/temp-dir';
import { composeOnPath } from './compose-on-path.ts';
import { type Machine, machinesOf } from './machine.ts';
import { ROOT } from './images.ts';

/** A compose project that runs. */
export interface Composed {
  readonly project: string;
  /** A copy of the folder of its compose.yaml, with .env and secrets. */
  readonly folder: string;
  /** The container of a service as it is now. */
  service(name: string): Promise<Machine>;
  /** Runs compose itself, such as `up -d --no-deps control-plane-1`. @returns its stdout */
  compose(...words: string[]): Promise<string>;
  /** Stops it and erases its volumes. */
  remove(): Promise<void>;
}

/** For an override: whether a service is healthy is known a second later, and a slow start is no illness. */
export const ASKED_OFTEN = '{ interval: 1s, start_period: 120s }';

let count = 0;

/**
 * Starts what a compose.yaml of the repository says, unchanged, from a copy of its folder, with images that are built already.
 * Waits for no more than what services are said to depend on.
 *
 * @param options.folder of the compose.yaml, from the root
 * @param options.env lines of .env.example that are otherwise: values by name
 * @param options.override a second compose file, for what only a test needs
 * @param options.prepare runs in the copy, before the start
 */
export async function composeUp(options: {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly override?: string;
  readonly prepare?: (folder: string) => void;
}): Promise<Composed> {
  const dir = tempDir();
  const { path: folder } = dir;
  cpSync(join(ROOT, options.folder), folder, {
    recursive: true,
    filter: (path) => !/\.env$|secrets$/.test(path),
  });
  const project = `svault-test-${process.pid}-${(count += 1)}`;
  writeFileSync(
    join(folder, '.env'),
    withValues(readFileSync(join(folder, '.env.example'), 'utf8'), {
      ...options.env,
      COMPOSE_PROJECT_NAME: project,
    }),
  );
  const files = ['compose.yaml'];
  if (options.override !== undefined) {
    files.push('override.yaml');
    writeFileSync(join(folder, 'override.yaml'), options.override);
  }
  options.prepare?.(folder);
  // What compose finds in the environment would take the place of lines in .env.
  const env = programEnv({ HOME: folder, ...composeOnPath(folder) });
  const compose = async (...words: string[]): Promise<string> => {
    const args = ['compose', ...files.flatMap((file) => ['-f', file]), ...words];
    return (await promisify(execFile)('docker', args, { cwd: folder, env })).stdout;
  };
  const remove = async (): Promise<void> => {
    try {
      await compose('down', '--volumes', '--remove-orphans', '--timeout', '0');
    } finally {
      dir.remove();
    }
  };
  try {
    await compose('up', '-d', '--no-build');
  } catch (error) {
    await remove();
    throw error;
  }
  const service = async (name: string): Promise<Machine> => {
    const [found] = await machinesOf(project, name);
    if (found === undefined) throw new Error(`no container of ${name}`);
    return found;
  };
  return { project, folder, service, compose, remove };
}

/** A .env with some values of its own: each takes the place of its line, commented out or not. */
function withValues(env: string, values: Readonly<Record<string, string>>): string {
  let text = env;
  for (const [name, value] of Object.entries(values)) {
    const line = new RegExp(`^#?${name}=.*$`, 'm');
    text = line.test(text) ? text.replace(line, `${name}=${value}`) : `${text}${name}=${value}\n`;
  }
  return text;
}
