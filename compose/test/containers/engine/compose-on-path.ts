import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** `docker compose` where the engine's client has no such plugin: Debian's program of its own. */
const DOCKER = `#!/bin/sh
PATH=\${PATH#*:}
[ "$1" = compose ] && shift && exec docker-compose "$@"
exec docker "$@"
`;

/** What a shell needs to find `docker compose` as it is written in instructions. @param dir a folder for what is missing */
export function composeOnPath(dir: string): { readonly PATH: string; readonly DOCKER_HOST?: string } {
  const bin = join(dir, 'bin');
  mkdirSync(bin);
  if (spawnSync('docker', ['compose', 'version']).status !== 0) {
    writeFileSync(join(bin, 'docker'), DOCKER);
    chmodSync(join(bin, 'docker'), 0o755);
  }
  const { PATH = '', DOCKER_HOST } = process.env;
  return { PATH: `${bin}:${PATH}`, ...(DOCKER_HOST !== undefined && { DOCKER_HOST }) };
}
