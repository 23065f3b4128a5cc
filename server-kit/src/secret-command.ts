import { spawnSync } from 'node:child_process';

const TIMEOUT_MS = 60_000;
const MAX_OUTPUT_BYTES = 4_096;

/** The command of a setting gave no value. The message completes "NAME …" and repeats nothing of what was printed. */
export class CommandFailed extends Error {
  override readonly name = 'CommandFailed';
}

/**
 * Runs the command of a `…_COMMAND` setting, without a shell: white space separates words, and quotes hold one together.
 * It gets this environment without the `SV_…` settings, which may be secrets, and no input. Its stderr is this process's.
 *
 * @param setting its name, for messages
 * @param timeoutMs after which it is killed
 * @returns what it printed, without one line break at the end; a character for each byte
 * @throws CommandFailed
 */
export function outputOfCommand(
  setting: string,
  command: string,
  env: NodeJS.ProcessEnv,
  timeoutMs = TIMEOUT_MS,
): string {
  const failed = (problem: string, cause?: Error): CommandFailed =>
    new CommandFailed(`cannot be read from ${setting}: ${problem}`, { cause });
  const [program, ...operands] = wordsOf(command) ?? [];
  if (program === undefined) throw failed('it names no command, or a quote is not closed');
  const { error, signal, status, stdout } = spawnSync(program, operands, {
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('SV_'))),
    stdio: ['ignore', 'pipe', 'inherit'],
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
    maxBuffer: MAX_OUTPUT_BYTES,
  });
  if (error !== undefined) throw failed(problemOf(error, program, timeoutMs), error);
  if (signal !== null) throw failed(`${program} was ended by ${signal}`);
  if (status !== 0) throw failed(`${program} failed with exit code ${status}`);
  const text = stdout.toString('latin1').replace(/\r?\n$/, '');
  if (text === '') throw failed(`${program} printed nothing`);
  return text;
}

function problemOf({ code }: NodeJS.ErrnoException, program: string, timeoutMs: number): string {
  if (code === 'ETIMEDOUT') return `${program} did not end within ${timeoutMs / 1_000} seconds`;
  if (code === 'ENOBUFS') return `${program} printed more than ${MAX_OUTPUT_BYTES} bytes`;
  return `${program} cannot be run: ${code ?? 'unknown error'}`;
}

/** Neither backslashes nor variables: `sh -c '…'` is there for what takes a shell. @returns undefined for an open quote */
function wordsOf(command: string): readonly string[] | undefined {
  const words = command.match(/(?:[^\s'"]|'[^']*'|"[^"]*")+|['"]/g) ?? [];
  if (words.some((word) => word === "'" || word === '"')) return undefined;
  return words.map((word) =>
    word.replaceAll(
      /'([^']*)'|"([^"]*)"/g,
      (_quoted, single?: string, double?: string) => single ?? double ?? '',
    ),
  );
}
