import { spawnSync } from 'node:child_process';

/** Compose as a plugin of the engine's client, or Debian's program; `.ci/run` installs the latter. */
const COMPOSE_COMMANDS = [['docker', 'compose'], ['docker-compose']] as const;
const command = COMPOSE_COMMANDS.find(
  ([program, ...words]) => spawnSync(program, [...words, 'version']).status === 0,
);

export const hasCompose = command !== undefined;
/** Ends the name of a test that needs it, where there is none. */
export const NO_COMPOSE = hasCompose ? '' : ' (SKIPPED: no docker compose; apt-get install docker-compose)';

/** Compose's own check of the compose.yaml in a folder. @returns its exit code, and what it says */
export function composeReads(folder: string): readonly [number | null, string] {
  const [program, ...words] = command ?? ['docker'];
  const { status, stderr } = spawnSync(program, [...words, '-f', 'compose.yaml', 'config', '-q'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder },
    encoding: 'utf8',
  });
  return [status, stderr];
}
