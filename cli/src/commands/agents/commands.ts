import { Command } from 'commander';
import { type Action, NAMED, YES, examples } from '../declare.ts';

/** `agents` and all below it. An agent is named by its id or its name. */
export function agentsCommand(action: Action): Command {
  const agents = new Command('agents')
    .alias('ag')
    .summary('agents: who may ask for credentials')
    .description('Agents: who may ask for credentials. Each has a key, which it asks with, and grants.');
  agents
    .command('list')
    .description('list the agents')
    .option(...NAMED)
    .addHelpText(
      'after',
      examples(
        'svault agents list',
        'svault agents list --name build --format wide',
        "svault agents list --json | jq -r '.[] | select(.lastUsedAt == null) | .name'    # never used",
      ),
    )
    .action(action(() => import('./actions.ts'), 'listAgents'));
  agents
    .command('show')
    .description('show an agent, with its grants')
    .argument('<agent>', AGENT)
    .addHelpText(
      'after',
      examples(
        'svault agents show ci',
        'svault agents show agt_3kTMd8Q2sWv0bXh1pZ9aRg',
        "svault agents show ci --json | jq '.grants[].serviceName'",
      ),
    )
    .action(action(() => import('./actions.ts'), 'showAgent'));
  agents
    .command('create')
    .summary('create an agent; its key is shown once')
    .description('Create an agent. Its key is printed on stdout, only once; everything else goes to stderr.')
    .option('--name <name>', 'what it is called (needed)')
    .option('--grants <services>', 'what it is granted at once, separated by commas')
    .option('--allow-missing', 'grant names of no credential yet, too')
    .option('--description <text>', 'what it is for')
    .option('--mcp', 'let it use the MCP endpoint')
    .option('--sealing-key <jwk>', SEALING_KEY)
    .addHelpText(
      'after',
      examples(
        'svault agents create --name ci --grants github,npm',
        'svault agents create --name ci | ssh build svault login --key - --base-url https://svault.example.com',
        'svault agents create --name ci --format json',
      ),
    )
    .action(action(() => import('./actions.ts'), 'createAgent'));
  agents
    .command('edit')
    .description('change an agent; options that are not given stay')
    .argument('<agent>', AGENT)
    .option('--name <name>', 'what it is called from now on')
    .option('--description <text>', 'what it is for')
    .option('--mcp', 'let it use the MCP endpoint')
    .option('--no-mcp', 'do not let it use the MCP endpoint')
    .option('--sealing-key <jwk>', `${SEALING_KEY}; none: forget it`)
    .addHelpText(
      'after',
      examples(
        'svault agents edit ci --mcp',
        "svault agents edit ci --name build --description 'Nightly builds'",
        'svault agents edit ci --sealing-key @ci.jwk',
      ),
    )
    .action(action(() => import('./actions.ts'), 'editAgent'));
  agents
    .command('rm')
    .description('delete an agent, with its key and its grants, for good')
    .argument('<agent>', AGENT)
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        'svault agents rm ci',
        'svault agents suspend ci    # to be able to undo it',
        'svault agents rm ci --yes',
      ),
    )
    .action(action(() => import('./actions.ts'), 'removeAgent'));
  agents
    .command('suspend')
    .alias('off')
    .description('refuse all requests of an agent until it is resumed')
    .argument('<agent>', AGENT)
    .addHelpText(
      'after',
      examples(
        'svault agents suspend ci',
        'svault agents list --format name | xargs -n 1 svault agents suspend    # every agent',
        'svault agents suspend ci --json | jq -r .status',
      ),
    )
    .action(action(() => import('./actions.ts'), 'suspendAgent'));
  agents
    .command('resume')
    .alias('on')
    .description('let a suspended agent ask again')
    .argument('<agent>', AGENT)
    .addHelpText(
      'after',
      examples(
        'svault agents resume ci',
        'svault agents show ci    # shows whether it is suspended',
        'svault agents resume ci --json | jq -r .status',
      ),
    )
    .action(action(() => import('./actions.ts'), 'resumeAgent'));
  agents
    .command('rotate-key')
    .description('give an agent a new key, and print it; the former one ends at once')
    .argument('<agent>', AGENT)
    .option(...YES)
    .addHelpText(
      'after',
      examples(
        'svault agents rotate-key ci',
        'svault agents rotate-key ci --yes > ci.key',
        'svault agents rotate-key ci --yes | gh secret set SVAULT_KEY',
      ),
    )
    .action(action(() => import('./actions.ts'), 'rotateAgentKey'));
  agents
    .command('reveal-key')
    .description('print the key of an agent once more; the log records it')
    .argument('<agent>', AGENT)
    .addHelpText(
      'after',
      examples(
        'svault agents reveal-key ci',
        'svault agents reveal-key ci > ci.key',
        'svault agents reveal-key ci | ssh build svault login --key - --base-url https://svault.example.com',
      ),
    )
    .action(action(() => import('./actions.ts'), 'revealAgentKey'));
  return agents;
}

const AGENT = 'its name or its id';
const SEALING_KEY = 'the public key (JWK) that its sealed credentials are for, or @FILE';
