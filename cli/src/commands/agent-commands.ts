import { Command } from 'commander';
import type { Action } from '../lazily.ts';

/** `agents` and all below it. An agent is named by its id or its name. */
export function agentsCommand(action: Action): Command {
  const agents = new Command('agents').alias('ag').description('agents: who may ask for credentials');
  agents
    .command('list')
    .description('list them')
    .action(action(() => import('../agents/list-agents.ts')));
  agents
    .command('show')
    .description('show one, with its grants')
    .argument('<agent>')
    .action(action(() => import('../agents/show-agent.ts')));
  agents
    .command('create')
    .description('make one; its key is shown once')
    .option('--name <name>', 'what it is called (needed)')
    .option('--grants <services>', 'what it is granted at once, separated by commas')
    .option('--description <text>')
    .option('--mcp', 'let it use the MCP endpoint')
    .option('--sealing-key <jwk>', 'public key that its sealed credentials are for, or @FILE')
    .action(action(() => import('../agents/create-agent.ts')));
  agents
    .command('edit')
    .description('change one; what is not given stays')
    .argument('<agent>')
    .option('--name <name>')
    .option('--description <text>')
    .option('--mcp', 'let it use the MCP endpoint')
    .option('--no-mcp', 'do not let it')
    .option(
      '--sealing-key <jwk>',
      'public key that its sealed credentials are for, or @FILE; none: forget it',
    )
    .action(action(() => import('../agents/edit-agent.ts')));
  agents
    .command('rm')
    .description('delete one, with its key and grants')
    .argument('<agent>')
    .option('-y, --yes', 'do not ask')
    .action(action(() => import('../agents/remove-agent.ts')));
  agents
    .command('suspend')
    .alias('off')
    .description('refuse all its requests until it is resumed')
    .argument('<agent>')
    .action(action(() => import('../agents/suspend-agent.ts')));
  agents
    .command('resume')
    .alias('on')
    .description('let it ask again')
    .argument('<agent>')
    .action(action(() => import('../agents/resume-agent.ts')));
  return agents;
}
