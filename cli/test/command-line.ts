import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { onTestFinished } from 'vitest';
import type { Format } from '../src/global-flags.ts';
import type { Invocation } from '../src/invocation.ts';
import { run } from '../src/run.ts';

export const BIN = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
/** Where Node keeps the compiled code of all these processes; in each user's folder it would be made anew. */
const COMPILED = process.env['NODE_COMPILE_CACHE'];

/** What a command left behind. */
export interface Outcome {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface CommandLineOptions {
  /** On stdin, which is no terminal. */
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  /** Sends SIGINT to a spawned command, as Ctrl-C does. */
  readonly interrupt?: AbortSignal;
}

/** A user with a folder of their own for what the client keeps. */
export interface CommandLine {
  readonly dir: string;
  /** Runs a command line in this process: no terminal, nothing of this process's environment. */
  svault(args: readonly string[], options?: CommandLineOptions & Seat): Promise<Outcome>;
  /** The same as a process, for what only a process shows. @param program instead of Node with the sources */
  spawned(
    args: readonly string[],
    options?: CommandLineOptions & {
      readonly program?: readonly [string, ...string[]];
      readonly cwd?: string;
    },
  ): Promise<Outcome>;
  remove(): void;
}

/** Where a command runs. */
interface Seat {
  readonly stdin?: Readable;
  /** Whether a person sits at all of its streams. */
  readonly isPerson?: boolean;
  readonly columns?: number | undefined;
  /** Gets all that stderr has shown so far. */
  readonly onErr?: (text: string) => void;
}

/** What surrounds a command, and what it says there. */
export function seat({ stdin = Readable.from([]), isPerson = false, columns, onErr }: Seat = {}): {
  readonly said: { out: string; err: string };
  readonly terminal: Invocation['terminal'];
} {
  const said = { out: '', err: '' };
  const terminal = {
    out: (text: string | Uint8Array) => void (said.out += Buffer.from(text).toString()),
    written: async (text: string) => void (said.out += text),
    err: (text: string) => {
      said.err += text;
      onErr?.(said.err);
    },
    stdin,
    interactive: { in: isPerson, out: isPerson, err: isPerson },
    columns,
  };
  return { said, terminal };
}

/** A command that runs, for a part of it that is called by itself. */
export const invocationAt = (
  { terminal }: Pick<Invocation, 'terminal'>,
  {
    format = 'table',
    color = false,
    signal = new AbortController().signal,
  }: { readonly format?: Format; readonly color?: boolean; readonly signal?: AbortSignal } = {},
): Invocation => ({ flags: { format, color }, terminal, color, env: {}, signal });

/** @param env of every command; SVAULT_KEYCHAIN=off is among it, so that no test writes into a user's keychain */
export function commandLine(env: Readonly<Record<string, string>> = {}): CommandLine {
  const dir = tempDir();
  const all = { SVAULT_CONFIG_DIR: dir.path, SVAULT_KEYCHAIN: 'off', ...env };
  return {
    dir: dir.path,
    svault: async (args, { input, env: more, signal, ...seated } = {}) => {
      const stdin = Readable.from(input === undefined ? [] : [Buffer.from(input)]);
      const { said, terminal } = seat({ stdin, ...seated });
      const code = await run(args, {
        terminal,
        env: { ...all, ...more },
        signal: signal ?? new AbortController().signal,
      });
      return { code, ...said };
    },
    spawned: (args, { program = [process.execPath, BIN], input = '', env: more, interrupt, cwd } = {}) => {
      const [command, ...before] = program;
      const child = spawn(command, [...before, ...args], {
        cwd,
        env: { PATH: process.env['PATH'], HOME: dir.path, NODE_COMPILE_CACHE: COMPILED, ...all, ...more },
      });
      interrupt?.addEventListener('abort', () => child.kill('SIGINT'));
      const said = { out: '', err: '' };
      child.stdout.on('data', (chunk: Buffer) => (said.out += chunk.toString()));
      child.stderr.on('data', (chunk: Buffer) => (said.err += chunk.toString()));
      child.stdin.on('error', () => undefined).end(input);
      return new Promise((resolve, reject) => {
        child.once('error', reject).once('close', (code) => resolve({ code: code ?? -1, ...said }));
      });
    },
    remove: () => dir.remove(),
  };
}

/** As `commandLine`, for one test. */
export function someone(env: Readonly<Record<string, string>> = {}): CommandLine {
  const line = commandLine(env);
  onTestFinished(() => line.remove());
  return line;
}
