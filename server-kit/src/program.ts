import { setFlagsFromString } from 'node:v8';
import { type Clock, systemClock } from '@svault/shared';
import { SettingsError } from './settings.ts';
import { scrub } from './scrub.ts';
import { VERSION } from './version.ts';

/** What a program finds around it. */
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly clock: Clock;
  /** Writes what was asked for. */
  readonly out: (text: string) => void;
  /** Writes why it failed. */
  readonly err: (text: string) => void;
}

export interface Subcommand {
  /** How its arguments look, such as `FILE`; empty when it takes none. */
  readonly usage?: string;
  readonly summary: string;
  /** How many words of its own it is called with (`audit verify` is one name of two words). */
  readonly operands: number;
  /** How many more it may be called with; none unless given. */
  readonly optionalOperands?: number;
  /** @returns the exit code; nothing means 0 */
  run(operands: readonly string[], surroundings: Surroundings): Promise<number | void>;
}

export interface Program {
  readonly name: string;
  readonly subcommands: Readonly<Record<string, Subcommand>>;
  /** Runs when no subcommand is named. */
  readonly fallback: string;
}

const USAGE = 2;

/**
 * Chooses and runs a subcommand. Every failure is one clear line (or the list of settings to mend) on stderr and
 * an exit code: 2 for a call that does not fit, 1 for everything else. A stack is shown only at SV_LOG_LEVEL=debug.
 *
 * What cannot be written, since nobody reads it any more or the disk is full, ends nothing: a service goes on without its log,
 * and a subcommand that comes to its end exits with 1.
 *
 * Loading leaves garbage once, which V8 would grow the young generation for, by 12 MB that an idle program never gives back: it
 * grows from the end of the start on.
 * @param load loads what is run
 */
export async function runProgram(load: () => Promise<Program>, argv: readonly string[]): Promise<void> {
  setFlagsFromString('--semi-space-growth-factor=1');
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => (process.exitCode ??= 1));
  const code = await runWithin(await load(), argv, {
    env: process.env,
    clock: systemClock,
    out: (text) => void process.stdout.write(text),
    err: (text) => void process.stderr.write(text),
  });
  setFlagsFromString('--semi-space-growth-factor=2');
  if (code !== 0) process.exitCode = code;
}

/** The same in whatever surroundings. @returns the exit code */
export async function runWithin(
  program: Program,
  argv: readonly string[],
  surroundings: Surroundings,
): Promise<number> {
  const { env, out, err } = surroundings;
  if (argv.includes('--help') || argv[0] === 'help') {
    out(usage(program));
    return 0;
  }
  if (argv[0] === '--version') {
    out(`${program.name} ${VERSION}\n`);
    return 0;
  }
  const name = argv.length === 0 ? program.fallback : matchName(program, argv);
  const subcommand = name === undefined ? undefined : program.subcommands[name];
  const operands = name === undefined ? [] : argv.slice(argv.length === 0 ? 0 : name.split(' ').length);
  if (subcommand === undefined || !takes(subcommand, operands.length)) {
    const what =
      subcommand === undefined
        ? `unknown subcommand: ${argv.join(' ')}`
        : `Usage: ${name} ${subcommand.usage ?? ''}`;
    err(`${program.name}: ${what.trimEnd()}\n\n${usage(program)}`);
    return USAGE;
  }
  try {
    return (await subcommand.run(operands, surroundings)) ?? 0;
  } catch (error) {
    err(`${program.name}: ${scrub(describe(error, env))}\n`);
    return error instanceof SettingsError && !error.mayPass ? USAGE : 1;
  }
}

const takes = ({ operands, optionalOperands = 0 }: Subcommand, given: number): boolean =>
  given >= operands && given <= operands + optionalOperands;

/** The longest subcommand name that the arguments start with. */
function matchName(program: Program, argv: readonly string[]): string | undefined {
  return Object.keys(program.subcommands)
    .filter((name) => name.split(' ').every((word, index) => argv[index] === word))
    .sort((a, b) => b.length - a.length)[0];
}

function describe(error: unknown, env: NodeJS.ProcessEnv): string {
  if (!(error instanceof Error)) return String(error);
  return env['SV_LOG_LEVEL'] === 'debug' ? (error.stack ?? error.message) : error.message;
}

function usage(program: Program): string {
  const rows = Object.entries(program.subcommands).map(([name, { usage: operands = '', summary }]) => {
    return `  ${`${name} ${operands}`.padEnd(28)} ${summary}${name === program.fallback ? ' (default)' : ''}\n`;
  });
  return `Usage: ${program.name} [SUBCOMMAND|--version]\n\n${rows.join('')}`;
}
