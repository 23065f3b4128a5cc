import type { Command } from 'commander';
import { plainLine } from './output/plain-line.ts';

/**
 * What a person reads of a command line that commander does not take: one line, which leads on. What stood in the place of an
 * operand or behind a flag is not repeated: it may be a secret that was typed there, and logs keep stderr.
 *
 * @param said by commander; a suggestion stands on a line of its own there
 * @param command whose flags and operands they would have been
 */
export function wrongCommandLine(said: string, command: Command): string {
  const shown = plainLine(
    said
      .trimEnd()
      .replace(/^(error: too many arguments.*? but got \d+): .*$/s, '$1')
      .replace(/^(error: unknown option '-[^'=]*)=.*?'($|\n)/s, "$1'$2"),
  );
  if (/\(Did you mean |Allowed choices/.test(shown)) return shown;
  const dash = shown.startsWith('error: unknown option') && command.registeredArguments.length > 0;
  return `${shown}: ${wordsOf(command)} --help${dash ? '; what begins with - and is no flag stands behind --' : ''}`;
}

const wordsOf = (command: Command): string =>
  command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;
