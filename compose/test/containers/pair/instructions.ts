import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { programEnv } from '@svault/test-kit/program-env';
import { tempDir } from '@svault/test-kit/temp-dir';
import { composeOnPath } from '../engine/compose-on-path.ts';
import { ROOT } from '../engine/images.ts';
import type { PairInContainers } from './pair-in-containers.ts';

/** A shell in the folder of compose.yaml, as somebody has who copies the lines that `bind` printed. */
export interface Shell {
  /** @returns what the lines wrote to stdout */
  run(lines: string, variables?: Readonly<Record<string, string>>): string;
  remove(): void;
}

export function shellBeside({ project, folder }: PairInContainers): Shell {
  const dir = tempDir();
  const found = composeOnPath(dir.path);
  return {
    run: (lines, variables = {}) => {
      const env = programEnv({
        ...found,
        HOME: dir.path,
        // The folder of a test is a copy, without the client beside it.
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
    .filter((line) => /^ {2}(?:export|\.\.\/svault|KEY=|SVAULT_KEY=|URL=|curl)/.test(line))
    .map((line) => line.trim());
