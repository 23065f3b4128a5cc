import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { programEnv } from './program-env.ts';

/** What the program of {@link migrateThroughKills} writes when it begins a step, before it changes anything. */
export const BEGINS = 'begins';

/**
 * Runs a program that migrates, and kills it in the middle of a step, again and again.
 *
 * @param options.script in the language of this process; writes a line with {@link BEGINS} for each step, and ends when all are applied
 * @param options.afterKill looks at what a kill has left
 */
export async function migrateThroughKills(options: {
  readonly script: string;
  readonly kills: number;
  readonly afterKill: () => Promise<void> | void;
}): Promise<void> {
  for (let kill = 0; kill < options.kills; kill += 1) {
    const child = spawnScript(options.script);
    const ended = once(child, 'close');
    let lines = '';
    // Not the first step of each run only, and some turns later, so that statements of the step are under way.
    const stepsBefore = kill % 3;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      lines += text;
      if (lines.split(BEGINS).length - 1 <= stepsBefore) return;
      let turns = (kill * 7) % 40;
      const wait = (): void => void (turns-- > 0 ? setImmediate(wait) : child.kill('SIGKILL'));
      wait();
    });
    const [code, signal] = (await ended) as [number | null, string | null];
    if (signal !== 'SIGKILL') throw new Error(`it was not killed, but ended with ${code}: ${lines}`);
    await options.afterKill();
  }
}

function spawnScript(script: string) {
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  return spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd,
    env: programEnv({}),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
