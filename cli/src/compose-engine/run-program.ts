import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { once } from 'node:events';

/** How a program ended; 128 and more for a signal. */
export interface Ended {
  readonly code: number;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Gets the lines of stderr, and those of stdout where nobody else gets them. */
  readonly onLine: (line: string) => void;
  readonly onOut?: (line: string) => void;
}

const KILLED = 128;

/**
 * Runs a program without a shell and without input; Ctrl-C ends it.
 * @returns undefined where there is no such program
 * @throws the abort's reason after Ctrl-C
 */
export async function runProgram(
  [program, ...args]: readonly [string, ...string[]],
  { cwd, env, signal, onLine, onOut = onLine }: RunOptions,
): Promise<Ended | undefined> {
  signal.throwIfAborted();
  const child = spawn(program, args, {
    cwd,
    env,
    signal,
    killSignal: 'SIGINT',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  createInterface({ input: child.stdout }).on('line', onOut);
  createInterface({ input: child.stderr }).on('line', onLine);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return { code: code ?? KILLED };
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
