import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ERROR_ROWS } from './error-rows.ts';
import type { SERVICE_ROWS } from './webhook-rows.ts';

const SVAULT = fileURLToPath(new URL('../../../cli/src/bin.ts', import.meta.url));

/** What the client says of its exit codes. */
export const exitCodes = (): Promise<string> =>
  new Promise((resolve, reject) =>
    execFile(process.execPath, [SVAULT, '--help'], (error, out) =>
      error === null ? resolve(out) : reject(new Error('no help', { cause: error })),
    ),
  );

/** The command is unknown to the client as yet: exit code 2, a wrong command line. */
export const svaultExitCode = (...args: string[]): Promise<number> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, [SVAULT, ...args], () => resolve(child.exitCode ?? -1));
  });

interface LaterCommand {
  readonly command: readonly string[];
  /** What the client says of it already. */
  readonly told: RegExp;
}

/** Rows of the command-line client: their command does not exist yet, and the client names their codes already. */
export const LATER_COMMANDS = {
  'exit code 6': { command: ['tokens', 'get', 'github', '--check'], told: /^ +6 +tokens get --check/m },
  'exit code 7': { command: ['tokens', 'list'], told: /^ +7 +.*429/m },
  'exit code 7, again': { command: ['agents', 'list'], told: /^ +7 +.*429/m },
} as const satisfies Partial<Record<keyof typeof ERROR_ROWS, LaterCommand>>;

/** As above, of the client's sessions. */
export const LATER_CONTEXTS = {
  'admin users, CLI': { command: ['context', 'list'], told: /--context/ },
} as const satisfies Partial<Record<keyof typeof SERVICE_ROWS, LaterCommand>>;
