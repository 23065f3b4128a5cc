import { Option, type Command } from 'commander';

const FORMATS = ['json', 'table', 'wide', 'name'] as const;
export type Format = (typeof FORMATS)[number];

/** Flags that every command takes, before or after its name ("Command-line client"). */
export interface GlobalFlags {
  /**
   * `--context`: name of the login to act with; else SVAULT_CONTEXT, else the current one. Commander names it after its alias.
   */
  readonly ctx?: string;
  readonly format: Format;
  readonly color: boolean;
  /** Shows each request on stderr, without secrets, and where an error comes from. */
  readonly debug?: true;
  readonly dryRun?: true;
}

export function addGlobalFlags(program: Command): Command {
  return program
    .option(
      '--context, --ctx <name>',
      'the login to act with (default: SVAULT_CONTEXT, else the current one)',
    )
    .addOption(new Option('--format <format>', 'how to print').choices(FORMATS).default('table'))
    .option('--no-color', 'print without colours (also: NO_COLOR)')
    .option('--debug', 'show each request on stderr, without secrets, and where an error comes from')
    .option('--dry-run', 'print the requests it would send, and send none');
}
