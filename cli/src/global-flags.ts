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
    .addOption(new Option('--json', 'the same as --format json').implies({ format: 'json' }))
    .option('--no-color', 'print without colours (also: NO_COLOR)')
    .option('--debug', 'show each request on stderr, without secrets, and where an error comes from')
    .option('--dry-run', 'print the requests it would send, and send none');
}

/** The page of `svault help global-flags`. */
export function globalFlagsPage(program: Command): string {
  const rows = program.options
    .filter(({ long }) => long !== '--version')
    .map(({ flags, description, argChoices }) => {
      const choices = argChoices === undefined ? '' : ` (${argChoices.join(', ')})`;
      return [flags, `${description}${choices}`] as const;
    });
  const width = Math.max(...rows.map(([flags]) => flags.length));
  return [
    'Global flags, which every command takes, before or behind its name:',
    ...rows.map(([flags, says]) => `  ${flags.padEnd(width)}  ${says}`),
    '',
    'Variables:',
    '  SVAULT_BASE_URL, SVAULT_KEY  act with this key of an agent or an admin, without any file',
    '  SVAULT_CONTEXT               the login to act with, by its name',
    '  SVAULT_WEBHOOK_URL           the only webhook that secrets are sent to',
    '  SVAULT_CONFIG_DIR            where logins are kept',
    '  NO_COLOR                     print without colours',
    '',
  ].join('\n');
}
