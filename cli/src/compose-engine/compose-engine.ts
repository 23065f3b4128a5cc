import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { unavailable, usage } from '../failure.ts';
import type { Invocation } from '../invocation.ts';
import { plainLine } from '../output/plain-line.ts';

/** Docker's compose, as it is on this machine, for the project in one folder. */
export interface ComposeEngine {
  readonly name: string;
  /** Runs a command of compose; all that it says goes to stderr. */
  show(...args: readonly string[]): Promise<Ended>;
  /** Runs one and gives what it wrote to stdout; what it says besides goes to stderr. */
  read(...args: readonly string[]): Promise<Ended & { readonly out: string }>;
  /** Runs one for its exit code. @returns the last thing that it said too */
  try(...args: readonly string[]): Promise<Ended & { readonly lastLine: string }>;
}

const COMMANDS = [['docker', 'compose'], ['docker-compose']] as const;

/**
 * Finds compose: version 2, which is a part of docker, or else version 1.
 * @throws Failure unavailable where neither is installed
 */
async function composeEngine(invocation: Invocation, folder: string): Promise<ComposeEngine> {
  const surroundings = { cwd: folder, env: composeEnv(invocation.env), signal: invocation.signal };
  const { terminal, flags } = invocation;
  const toStderr = (line: string): void => terminal.err(`${plainLine(line)}\n`);
  for (const command of COMMANDS) {
    const [program, ...before] = command;
    const silent = { ...surroundings, onLine: () => undefined };
    const version = await runProgram([program, ...before, 'version'], silent);
    if (version?.code !== 0) continue;
    const run = async (
      args: readonly string[],
      onOut: (line: string) => void,
      onLine = toStderr,
    ): Promise<Ended> => {
      const output = { ...surroundings, onLine, onOut };
      if (flags.debug === true) toStderr(`> ${[...command, ...args].join(' ')}`);
      return (await runProgram([program, ...before, '--ansi', 'never', ...args], output)) ?? { code: 127 };
    };
    return {
      name: command.join(' '),
      show: (...args) => run(args, toStderr),
      read: async (...args) => {
        const lines: string[] = [];
        const ended = await run(args, (line) => lines.push(line));
        return { ...ended, out: lines.join('\n') };
      },
      try: async (...args) => {
        let lastLine = '';
        const remember = (line: string): void => void (lastLine = line.trim() === '' ? lastLine : line);
        const ended = await run(args, remember, remember);
        return { ...ended, lastLine };
      },
    };
  }
  throw unavailable(
    'neither docker compose nor docker-compose is installed here: https://docs.docker.com/engine/install/',
  );
}

/**
 * Compose for a project that it takes, where an engine answers.
 * @throws Failure usage where it does not take the project, and has said why; unavailable where no engine answers
 */
export async function readyEngine(invocation: Invocation, folder: string): Promise<ComposeEngine> {
  const compose = await composeEngine(invocation, folder);
  const checked = await compose.show('config', '--quiet');
  if (checked.code !== 0)
    throw usage(`the project in ${folder} is not complete; see the output of compose above`);
  const { code, lastLine } = await compose.try('ps');
  if (code === 0) return compose;
  throw unavailable(
    `no container engine answers; is Docker started, and may you use it? (${plainLine(lastLine).trim()})`,
  );
}

/** Variables that would override .env, or reach a process that needs no key. */
const NOT_FOR_COMPOSE =
  /^(?:SV_|SVAULT_|TS_|COMPOSE_(?:FILE|PROJECT_NAME|PROFILES|ENV_FILES|DISABLE_ENV_FILE)$)/;

/** What the shell has set, without what belongs to .env and without our own secrets. */
const composeEnv = (env: Invocation['env']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !NOT_FOR_COMPOSE.test(entry[0]),
    ),
  );

/** How a program ended; 128 and more for a signal. */
interface Ended {
  readonly code: number;
}

interface RunOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  /** Gets the lines of stderr, and those of stdout where `onOut` is not given. */
  readonly onLine: (line: string) => void;
  readonly onOut?: (line: string) => void;
}

const KILLED = 128;

/**
 * Runs a program without a shell and without input; Ctrl-C ends it.
 * @returns undefined where there is no such program
 * @throws the abort's reason after Ctrl-C
 */
async function runProgram(
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
