import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** `docker compose` where the engine's client has no such plugin: Debian's program of its own. */
const DOCKER = `#!/bin/sh
PATH=\${PATH#*:}
[ "$1" = compose ] && shift && exec docker-compose "$@"
exec docker "$@"
`;

/**
 * What a shell with another home needs to find the engine, and `docker compose` as it is written in instructions.
 *
 * @param dir a folder for what is missing
 */
export function composeOnPath(dir: string): {
  readonly PATH: string;
  readonly DOCKER_CONFIG: string;
  readonly DOCKER_HOST?: string;
} {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  if (spawnSync('docker', ['compose', 'version']).status !== 0) {
    writeFileSync(join(bin, 'docker'), DOCKER);
    chmodSync(join(bin, 'docker'), 0o755);
  }
  // Plugins and the choice of an engine are in the home of who runs the tests.
  const { PATH = '', DOCKER_CONFIG = join(homedir(), '.docker'), DOCKER_HOST } = process.env;
  return { PATH: `${bin}:${PATH}`, DOCKER_CONFIG, ...(DOCKER_HOST !== undefined && { DOCKER_HOST }) };
}
