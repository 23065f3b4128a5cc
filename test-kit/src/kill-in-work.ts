import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { programEnv } from './program-env.ts';

/** A subcommand of a program as its users start it. */
export interface StartedWork {
  /** Of the program. */
  readonly main: string;
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Whether the work has begun, as opposed to the start of the process. */
  readonly begun: () => boolean;
}

/** Lets a subcommand end. @returns how long its work took, in milliseconds */
export async function timeOfWork(work: StartedWork): Promise<number> {
  const { child, ended, beganAt } = await begin(work);
  await ended;
  if (child.exitCode !== 0) throw new Error(`${work.words.join(' ')} ended with ${child.exitCode}`);
  return performance.now() - beganAt;
}

/**
 * Kills subcommands with SIGKILL, each somewhere in its work.
 *
 * @param spanMs how long the work takes; where it had ended before the kill, the next kill comes earlier
 * @returns runs one; false where it had ended
 */
export function createKiller(spanMs: number): (work: StartedWork) => Promise<boolean> {
  let span = spanMs;
  return async (work) => {
    const { child, ended } = await begin(work);
    const killer = setTimeout(() => child.kill('SIGKILL'), Math.random() * span);
    await ended;
    clearTimeout(killer);
    const killed = child.signalCode === 'SIGKILL';
    if (!killed) span *= 0.7;
    return killed;
  };
}

async function begin({ main, words, env, begun }: StartedWork) {
  const child = spawn(process.execPath, [main, ...words], { env: programEnv(env), stdio: 'ignore' });
  const ended = once(child, 'exit');
  while (!begun() && child.exitCode === null) await wait(1);
  return { child, ended, beganAt: performance.now() };
}
