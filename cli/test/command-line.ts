import { spawn } from 'node:child_process';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { tempDir } from '@svault/test-kit/temp-dir';
import { run } from '../src/run.ts';

const BIN = fileURLToPath(new URL('../src/bin.ts', import.meta.url));
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
  svault(args: readonly string[], options?: CommandLineOptions): Promise<Outcome>;
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

/** @param env of every command; SVAULT_KEYCHAIN=off is among it, so that no test writes into a user's keychain */
export function commandLine(env: Readonly<Record<string, string>> = {}): CommandLine {
  const dir = tempDir();
  const all = { SVAULT_CONFIG_DIR: dir.path, SVAULT_KEYCHAIN: 'off', ...env };
  return {
    dir: dir.path,
    svault: async (args, options = {}) => {
      const said = { out: '', err: '' };
      const code = await run(args, {
        terminal: {
          out: (text) => void (said.out += Buffer.from(text).toString()),
          err: (text) => void (said.err += text),
          stdin: Readable.from(options.input === undefined ? [] : [Buffer.from(options.input)]),
          interactive: { in: false, out: false, err: false },
          columns: undefined,
        },
        env: { ...all, ...options.env },
        signal: options.signal ?? new AbortController().signal,
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
