import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { EXIT_CODES, exitCodeTable } from './exit-codes.ts';
import { explainCommand } from './explain/explain-command.ts';
import { addGlobalFlags, type GlobalFlags } from './global-flags.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/**
 * Runs one command line.
 * @param args without the interpreter and the script
 * @returns the exit code; see `EXIT_CODES`
 */
export function run(args: readonly string[], terminal: Terminal): number {
  const program = createProgram(terminal);
  try {
    program.parse(args, { from: 'user' });
    return EXIT_CODES.ok.code;
  } catch (error) {
    if (error instanceof CommanderError)
      return error.exitCode === 0 ? EXIT_CODES.ok.code : EXIT_CODES.usage.code;
    const { debug } = program.opts<GlobalFlags>();
    const told = error instanceof Error ? error.message : String(error);
    terminal.err(`error: ${debug && error instanceof Error ? (error.stack ?? told) : told}\n`);
    return error instanceof UsageError ? EXIT_CODES.usage.code : EXIT_CODES.failed.code;
  }
}

function createProgram(terminal: Terminal): Command {
  const program = new Command('svault')
    .description('Command-line client of svault, which controls how software agents obtain credentials.')
    .version(version(), '--version', 'print the version and end')
    .helpOption('-h, --help', 'print this and end')
    .helpCommand(false)
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      getOutHasColors: () => terminal.color,
    })
    .exitOverride()
    .addHelpText('after', `\n${exitCodeTable()}\n`);
  addGlobalFlags(program);
  program.addCommand(explainCommand(terminal).copyInheritedSettings(program));
  return program;
}

function version(): string {
  const manifest = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { version: string }).version;
}
