import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type Surroundings, runWithin } from '@svault/server-kit/program';
import { systemClock } from '@svault/shared';
import { programEnv } from '@svault/test-kit/program-env';
import { WEBHOOK } from '../../src/commands/webhook.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a subcommand in this process: the same, but for what only a process of its own shows; not for a `serve` that
 * serves.
 * @param beside.clock of what served these data; the system's unless given
 */
export async function command(
  { env, clock = systemClock }: Pick<Surroundings, 'env'> & Partial<Pick<Surroundings, 'clock'>>,
  ...args: string[]
): Promise<Finished> {
  let [stdout, stderr] = ['', ''];
  const code = await runWithin(WEBHOOK, args, {
    env,
    clock,
    out: (text) => void (stdout += text),
    err: (text) => void (stderr += text),
  });
  return { code, stdout, stderr };
}

/** Runs a subcommand of the program in a process of its own, with these settings and no others. */
export async function runWebhook(env: NodeJS.ProcessEnv, ...args: string[]): Promise<Finished> {
  const child = spawnWebhook(env, args);
  const output = { stdout: '', stderr: '' };
  child.stdout!.on('data', (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr!.on('data', (chunk: Buffer) => (output.stderr += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...output };
}

export interface ServingProcess {
  readonly url: string;
  readonly child: ChildProcess;
  /** Sends a signal and waits for the end; the exit code, or null where the signal ended it. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

/** Starts `serve` and waits until it listens. */
export async function serveProcess(env: NodeJS.ProcessEnv): Promise<ServingProcess> {
  const child = spawnWebhook({ ...env, SV_LOG_FORMAT: 'json' }, ['serve']);
  const closed = once(child, 'close') as Promise<[number | null]>;
  const url = await new Promise<string>((resolve, reject) => {
    let seen = '';
    const read = (chunk: Buffer): void => {
      seen += chunk.toString();
      const [, found] = /"url":"(http:[^"]+)"/.exec(seen) ?? [];
      if (found !== undefined) resolve(found);
    };
    child.stdout!.on('data', read);
    child.stderr!.on('data', read);
    child.once('close', () => reject(new Error(`serve ended: ${seen}`)));
  });
  return {
    url,
    child,
    end: async (signal) => {
      child.kill(signal);
      return (await closed)[0];
    },
  };
}

function spawnWebhook(env: NodeJS.ProcessEnv, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [MAIN, ...args], {
    env: programEnv(env),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
