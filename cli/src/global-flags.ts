import { Option, type Command } from 'commander';

export const FORMATS = ['json', 'table', 'wide', 'name'] as const;
export type Format = (typeof FORMATS)[number];

/** Flags that every command takes, before or after its name (specification, "Command-line client"). */
export interface GlobalFlags {
  /** `--context`: name of the login to act with, the current one unless given. Commander calls it after its alias. */
  readonly ctx?: string;
  readonly format: Format;
  readonly color: boolean;
  /** Shows where an error comes from. */
  readonly debug?: true;
  /** Says what would be changed, and changes nothing. */
  readonly dryRun?: true;
}

export function addGlobalFlags(program: Command): Command {
  return program
    .option('--context, --ctx <name>', 'the login to act with (default: the current one)')
    .addOption(new Option('--format <format>', 'how to print').choices(FORMATS).default('table'))
    .option('--no-color', 'print without colours')
    .option('--debug', 'show where an error comes from')
    .option('--dry-run', 'say what would be changed, and change nothing');
}
