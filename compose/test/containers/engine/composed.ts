import { execFile, spawnSync } from 'node:child_process';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { tempDir } from '@svault/test-kit/temp-dir';
import { DockerComposeEnvironment, type StartedDockerComposeEnvironment } from 'testcontainers';
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
  compose(...words: string[]): string;
  /** The same while the test goes on with what it does. */
  composeMeanwhile(...words: string[]): Promise<string>;
  /** Stops it and erases its volumes. */
  remove(): Promise<void>;
}

/** Compose as a plugin of the engine's client, or the program of its own that Debian has. */
const COMPOSE: readonly [string, ...string[]] =
  spawnSync('docker', ['compose', 'version']).status === 0 ? ['docker', 'compose'] : ['docker-compose'];

let count = 0;

/**
 * Starts what a compose.yaml of the repository says, unchanged, from a copy of its folder, with images that are built already.
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
  const [command, ...first] = COMPOSE;
  const withFiles = [...first, ...files.flatMap((file) => ['-f', file])];
  const compose = (...words: string[]): string => {
    const args = [...withFiles, ...words];
    const { status, stdout, stderr } = spawnSync(command, args, { cwd: folder, encoding: 'utf8' });
    if (status !== 0) throw new Error(`compose ${words.join(' ')} exited with ${status}: ${stderr}`);
    return stdout;
  };
  const composeMeanwhile = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)(command, [...withFiles, ...words], { cwd: folder })).stdout;
  const remove = async (): Promise<void> => {
    compose('down', '--volumes', '--timeout', '1');
    dir.remove();
  };
  let environment: StartedDockerComposeEnvironment;
  try {
    environment = await new DockerComposeEnvironment(folder, files)
      .withProjectName(project)
      .withAutoCleanup(false)
      .withClientOptions(COMPOSE[0] === 'docker' ? {} : { executable: { standalone: true } })
      .up();
  } catch (error) {
    await remove();
    throw error;
  }
  void environment;
  const service = async (name: string): Promise<Machine> => {
    const [found] = await machinesOf(project, name);
    if (found === undefined) throw new Error(`no container of ${name}`);
    return found;
  };
  return { project, folder, service, compose, composeMeanwhile, remove };
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
