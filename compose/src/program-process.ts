import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

export type ProgramName = 'control-plane' | 'webhook';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** As it ships: it starts in half the time that its sources take, and with two thirds of the memory. */
const mainOf = (name: ProgramName): string => join(ROOT, name, 'dist/main.js');
/** A machine that has much else to do starts a program slowly. */
const READY_TIMEOUT_MS = 120_000;
const READY_POLL_MS = 25;
/** A program that did not end by itself after SIGTERM is ended. */
const STOP_TIMEOUT_MS = 12_000;
const KEPT_LINES = 20;

/** Builds both programs of this checkout from its sources as they are, which takes a second. */
export async function buildPrograms(): Promise<void> {
  await promisify(execFile)(process.execPath, [join(ROOT, 'scripts/build-programs.ts')]);
}

export interface ProgramProcess {
  readonly child: ChildProcess;
  /** SIGTERM, then SIGKILL when it does not end in time. */
  stop(): Promise<void>;
  /** SIGKILL: what a crash looks like. */
  kill(): Promise<void>;
}

/** A command and its arguments, put before the program's own. */
export type Launcher = readonly [string, ...string[]];

export interface SpawnOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  readonly onLine?: (line: string) => void;
  /** A command that the program is run by, such as `['taskset', '-c', '0']`. */
  readonly launcher?: Launcher;
}

/** Starts `serve` of a program and waits until `GET /readyz` answers 200. */
export async function startProgram(
  name: ProgramName,
  url: string,
  options: SpawnOptions,
): Promise<ProgramProcess> {
  const { cwd, env, launcher } = options;
  const serve: Launcher = [process.execPath, mainOf(name), 'serve'];
  const [command, ...args]: Launcher = launcher === undefined ? serve : [...launcher, ...serve];
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const lastLines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lastLines.push(line);
      if (lastLines.length > KEPT_LINES) lastLines.shift();
      options.onLine?.(line);
    });
  }
  try {
    await ready(child, url);
  } catch (error) {
    child.kill('SIGKILL');
    throw new Error(`the ${name} did not start (${(error as Error).message}):\n${lastLines.join('\n')}`, {
      cause: error,
    });
  }
  return { child, stop: () => end(child, 'SIGTERM'), kill: () => end(child, 'SIGKILL') };
}

async function ready(child: ChildProcess, url: string): Promise<void> {
  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const answer = await fetch(`${url}/readyz`).catch(() => undefined);
    await answer?.body?.cancel();
    // Checked after the answer, which may be of another program on that port.
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`it ended with ${child.exitCode ?? child.signalCode}`);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
  }
  throw new Error(`it was not ready after ${READY_TIMEOUT_MS / 1000} s`);
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill(signal);
  const killer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(killer);
}

/**
 * Runs another subcommand of a program to its end, while `serve` runs.
 * @returns what it wrote to stdout
 * @throws Error with what it wrote to stderr when it exits with another code than 0
 */
export async function runSubcommand(
  name: ProgramName,
  words: readonly string[],
  options: Pick<SpawnOptions, 'env' | 'cwd'>,
): Promise<string> {
  const { cwd, env } = options;
  const child = spawn(process.execPath, [mainOf(name), ...words], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [out, err, [code]] = await Promise.all([
    child.stdout.setEncoding('utf8').toArray(),
    child.stderr.setEncoding('utf8').toArray(),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  if (code !== 0) throw new Error(`${name} ${words.join(' ')} exited with ${code}: ${err.join('').trim()}`);
  return out.join('');
}

/** The same with the streams of this process. @returns the exit code; 1 for a signal */
export async function runInTerminal(
  name: ProgramName,
  words: readonly string[],
  { cwd, env }: Pick<SpawnOptions, 'env' | 'cwd'>,
): Promise<number> {
  const child = spawn(process.execPath, [mainOf(name), ...words], { cwd, env, stdio: 'inherit' });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
