import process from 'node:process';
import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Invocation } from '../../invocation.ts';
import { say } from '../../output/say.ts';

interface Command {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onStart?: (pid: number) => void;
}

/** As shells say it (POSIX.1-2017, shell command language 2.8.2). */
const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;
const SIGNAL_BASE = 128;

/** A terminal gives these to the command itself, which is of its foreground group as svault is. */
const OF_TERMINALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
const PASSED_ON: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'];

/**
 * Runs a command in place of this one: with the same stdin, stdout and stderr; signals go on to it.
 * @returns its exit code; 128 and the signal's number where one ended it, 127 where there is none, 126 where it cannot be run
 */
export async function runCommand(invocation: Invocation, command: Command): Promise<number> {
  let child: ChildProcess;
  try {
    child = spawn(command.command, command.args, { env: { ...command.env }, stdio: 'inherit' });
  } catch (error) {
    return notStarted(invocation, command, error);
  }
  if (child.pid !== undefined) command.onStart?.(child.pid);
  const stopForwarding = forwardSignals(child, invocation);
  try {
    return await new Promise<number>((resolve) => {
      child.once('error', (error) => resolve(notStarted(invocation, command, error)));
      child.once('exit', (code, signal) =>
        resolve(signal === null ? (code ?? 0) : SIGNAL_BASE + constants.signals[signal]),
      );
    });
  } finally {
    stopForwarding();
  }
}

/** Signals are the process's own: there is no other way to them than from here. */
function forwardSignals(child: ChildProcess, { terminal }: Invocation): () => void {
  const pass = (signal: NodeJS.Signals): void => void child.kill(signal);
  const keep = (): void => undefined;
  const { interactive } = terminal;
  const atTerminal = interactive.in || interactive.out || interactive.err;
  const listeners = [
    ...PASSED_ON.map((signal) => [signal, pass] as const),
    // Twice would be once too much: many programs take the second for a wish to end at once.
    ...OF_TERMINALS.map((signal) => [signal, atTerminal ? keep : pass] as const),
  ];
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}

function notStarted(invocation: Invocation, { command }: Command, error: unknown): number {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  switch (code) {
    case 'ENOENT':
      say(invocation, `error: there is no command ${command}`);
      return NOT_FOUND;
    case 'E2BIG':
      say(invocation, `error: ${command} was not started: its arguments and environment are too long`);
      return NOT_EXECUTABLE;
    default:
      say(
        invocation,
        `error: ${command} cannot be run (${typeof code === 'string' ? code : 'for no reason that is known'})`,
      );
      return NOT_EXECUTABLE;
  }
}
