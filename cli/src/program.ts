import { Command } from 'commander';
import manifest from '../package.json' with { type: 'json' };
import { agentsCommand } from './commands/agent-commands.ts';
import { contextCommands } from './commands/context-commands.ts';
import { examples } from './commands/examples.ts';
import { grantsCommand } from './commands/grant-commands.ts';
import { helpCommand } from './commands/help-command.ts';
import { localCommands } from './commands/local-commands.ts';
import { shortcutCommands } from './commands/shortcut-commands.ts';
import { tokensCommand } from './commands/token-commands.ts';
import { vaultCommand } from './commands/vault-commands.ts';
import { webhookCommand } from './commands/webhook-commands.ts';
import { exitCodeTable } from './exit-codes.ts';
import { addGlobalFlags } from './global-flags.ts';
import { lazily, type Surroundings } from './lazily.ts';
import { wantsColor } from './output/wants-color.ts';
import { wrongCommandLine } from './wrong-command-line.ts';

/** The whole command line, as the specification's section "Command-line client" has it. */
export function createProgram(surroundings: Surroundings): Command {
  const { terminal } = surroundings;
  const action = lazily(surroundings);
  const program = new Command('svault')
    .description('Command-line client of svault, which controls how software agents obtain credentials.')
    .version(manifest.version, '--version', 'print the version and end')
    .helpOption('-h, --help', 'print this and end')
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      getOutHasColors: () => wantsColor(surroundings),
    })
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .addHelpText(
      'after',
      examples(
        'svault login --base-url https://svault.example.com',
        'svault add github',
        'svault agents create --name ci --grants github',
        'svault agents create --help',
      ),
    )
    .addHelpText('afterAll', `\n${exitCodeTable()}`);
  addGlobalFlags(program);
  leadingOn(program);
  const groups: readonly [string, readonly Command[]][] = [
    ['Sign-in:', contextCommands(action)],
    ['Shortcuts:', shortcutCommands(action)],
    [
      'Management:',
      [tokensCommand(action), agentsCommand(action), grantsCommand(action), vaultCommand(action)],
    ],
    ['Webhook:', [webhookCommand(action)]],
    ['Here:', [...localCommands(action), helpCommand(program)]],
  ];
  for (const [heading, commands] of groups) {
    program.commandsGroup(heading);
    for (const command of commands) program.addCommand(inheriting(program, command));
  }
  return program;
}

/** Commander hands its settings to commands that it makes itself, not to those that are added. */
function inheriting(parent: Command, command: Command): Command {
  leadingOn(command.copyInheritedSettings(parent)).helpCommand(false);
  for (const each of command.commands) inheriting(command, each);
  return command;
}

const leadingOn = (command: Command): Command =>
  command.configureOutput({
    outputError: (said, write) => write(`${wrongCommandLine(said, command)}\n`),
  });
