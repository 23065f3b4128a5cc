import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { runWithin } from '@svault/server-kit/program';
import { systemClock } from '@svault/shared';
import { programEnv } from '@svault/test-kit/program-env';
import { CONTROL_PLANE } from '../../src/commands/control-plane.ts';

const run = promisify(execFile);
const MAIN = new URL('../../src/main.ts', import.meta.url).pathname;

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the program as an operator does. @returns its exit code and what it wrote */
export async function program(env: Readonly<Record<string, string>>, ...words: string[]): Promise<Ended> {
  const options = { env: programEnv(env) };
  return run(process.execPath, [MAIN, ...words], options).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }: Ended) => ({ code, stdout, stderr }),
  );
}

/** Runs a subcommand in this process: the same, but for what only a process of its own shows; not for a `serve` that serves. */
export async function command(env: Readonly<Record<string, string>>, ...words: string[]): Promise<Ended> {
  let [stdout, stderr] = ['', ''];
  const code = await runWithin(CONTROL_PLANE, words, {
    env,
    clock: systemClock,
    out: (text) => void (stdout += text),
    err: (text) => void (stderr += text),
  });
  return { code, stdout, stderr };
}
