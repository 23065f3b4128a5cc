import { Command, InvalidArgumentError, Option } from 'commander';
import { type Action, collect, examples } from '../declare.ts';
import { KINDS } from './finding.ts';

function collectKinds(kind: string, before: readonly string[] = []): readonly string[] {
  if (KINDS.some((each) => each === kind)) return collect(kind, before);
  throw new InvalidArgumentError(`Allowed choices are ${KINDS.join(', ')}.`);
}

/** `import` */
export const importCommand = (action: Action): Command =>
  new Command('import')
    .summary('find credentials in files, and store them at the webhook')
    .description(
      'Find the credentials in .env files, MCP configurations, and the files of AWS, gh, netrc and npm, and list them without their values. With --write, store them at the webhook and lead MCP configurations to proxies.',
    )
    .argument('[service...]', 'names of the list; without one, all')
    .option(
      '--from <path>',
      'a file, or the folder of a project (default: this folder and your home); may be repeated',
      collect,
    )
    .addOption(
      new Option('--kind <kind>', 'files of this kind alone; may be repeated')
        .choices(KINDS)
        .argParser(collectKinds),
    )
    .option('--write', 'store those that are named; at a terminal it asks for each where none is')
    .option('--all', 'store all that are new')
    .option('--as <service>', 'store the one that is named under another name')
    .option('--keep-configs', 'leave MCP configurations as they are')
    .addHelpText(
      'after',
      examples(
        'svault import',
        'svault import --from .env --kind env --json',
        'svault import --write gh-github.com shop-stripe-key',
        'svault import --write --all',
      ),
    )
    .addHelpText(
      'after',
      `
Nothing is changed without --write. Values go from here to the webhook; they are never shown. An MCP
configuration that is rewritten stays beside itself as FILE.svault-backup, for you alone.`,
    )
    .action(action(() => import('./import.ts'), 'importSecrets'));
