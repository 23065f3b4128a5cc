import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programEnv } from '@svault/test-kit/program-env';
import { tempDir } from '@svault/test-kit/temp-dir';
import { ROOT } from './images.ts';
import type { PairInContainers } from './pair-in-containers.ts';

/** A shell in the folder of compose.yaml, as somebody has who copies the lines that `bind` printed. */
export interface Shell {
  /** @returns what the lines wrote to stdout */
  run(lines: string, variables?: Readonly<Record<string, string>>): string;
  remove(): void;
}

/** `docker compose` where the engine's client has no such plugin: Debian's program of its own. */
const DOCKER = `#!/bin/sh
PATH=\${PATH#*:}
[ "$1" = compose ] && shift && exec docker-compose "$@"
exec docker "$@"
`;

export function shellBeside({ project, folder }: PairInContainers): Shell {
  const dir = tempDir();
  const bin = join(dir.path, 'bin');
  mkdirSync(bin);
  if (spawnSync('docker', ['compose', 'version']).status !== 0) {
    writeFileSync(join(bin, 'docker'), DOCKER);
    chmodSync(join(bin, 'docker'), 0o755);
  }
  return {
    run: (lines, variables = {}) => {
      const env = programEnv({
        PATH: `${bin}:${process.env['PATH'] ?? ''}`,
        HOME: dir.path,
        ...(process.env['DOCKER_HOST'] !== undefined && { DOCKER_HOST: process.env['DOCKER_HOST'] }),
        // The folder of a test is a copy, in which npx would not find the client.
        COMPOSE_FILE: join(folder, 'compose.yaml'),
        COMPOSE_PROJECT_NAME: project,
        ...variables,
      });
      const { status, stdout, stderr } = spawnSync('sh', ['-ec', lines], {
        cwd: join(ROOT, 'compose'),
        encoding: 'utf8',
        env,
      });
      if (status !== 0) throw new Error(`${lines} exited with ${status}: ${stderr}`);
      return stdout;
    },
    remove: () => dir.remove(),
  };
}

/** The lines to copy of what `bind` printed, in their order. */
export const linesIn = (told: string): readonly string[] =>
  told
    .split('\n')
    .filter((line) => /^ {2}(?:export|npx|KEY=|SVAULT_KEY=|curl)/.test(line))
    .map((line) => line.trim());
