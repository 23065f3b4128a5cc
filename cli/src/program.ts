import manifest from '../package.json' with { type: 'json' };
import { Command } from 'commander';
import { agentsCommand } from './commands/agents/commands.ts';
import { contextCommands } from './commands/contexts/commands.ts';
import { type Action, type Surroundings, examples, lazily } from './commands/declare.ts';
import { addGrants, grantsCommand } from './commands/grants/commands.ts';
import { completionCommand } from './commands/completion/commands.ts';
import { execCommand } from './commands/exec/commands.ts';
import { explainCommand } from './commands/explain/commands.ts';
import { loginCommands } from './commands/login/commands.ts';
import {
  createToken,
  getToken,
  listTokens,
  removeTokens,
  setToken,
  showToken,
  tokensCommand,
} from './commands/tokens/commands.ts';
import { vaultCommand } from './commands/vault/commands.ts';
import { webhookCommand } from './commands/webhook/commands.ts';
import { exitCodeTable } from './failure.ts';
import { addGlobalFlags } from './global-flags.ts';
import { plainLine } from './output/plain-line.ts';
import { wantsColor } from './output/wants-color.ts';

/** The whole command line. */
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
    ['Sign-in:', [...loginCommands(action), ...contextCommands(action)]],
    ['Shortcuts:', shortcutCommands(action)],
    [
      'Management:',
      [tokensCommand(action), agentsCommand(action), grantsCommand(action), vaultCommand(action)],
    ],
    ['Webhook:', [webhookCommand(action)]],
    [
      'Here:',
      [
        execCommand(action),
        completionCommand(program, surroundings),
        explainCommand(action),
        helpCommand(program),
      ],
    ],
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

/**
 * What a person reads of a command line that commander does not take: one line, which leads on. What stood in the place
 * of an operand or behind a flag is not repeated: it may be a secret that was typed there, and logs keep stderr.
 * @param said by commander, which puts a suggestion on a separate line
 * @param command whose flags and operands they would have been
 */
function wrongCommandLine(said: string, command: Command): string {
  const shown = plainLine(
    said
      .trimEnd()
      .replace(/^(error: too many arguments.*? but got \d+): .*$/s, '$1')
      .replace(/^(error: unknown option '-[^'=]*)=.*?'($|\n)/s, "$1'$2"),
  );
  if (/\(Did you mean |Allowed choices/.test(shown)) return shown;
  const dash = shown.startsWith('error: unknown option') && command.registeredArguments.length > 0;
  return `${shown}: ${wordsOf(command)} --help${dash ? '; write an argument that begins with - behind --' : ''}`;
}

const wordsOf = (command: Command): string =>
  command.parent === null ? command.name() : `${wordsOf(command.parent)} ${command.name()}`;

/** `help`, for who types that first: the same as `--help` behind a command. */
const helpCommand = (program: Command): Command =>
  new Command('help')
    .description('print what svault does, or what a command of it does')
    .argument('[command...]', 'its words, such as tokens get')
    .action((words: readonly string[]) => commandAt(program, words).help());

function commandAt(from: Command, [word, ...others]: readonly string[]): Command {
  if (word === undefined) return from;
  const next = from.commands.find((each) => each.name() === word || each.aliases().includes(word));
  return next === undefined ? from.error(`error: unknown command '${word}'`) : commandAt(next, others);
}

const shortcutCommands = (action: Action): readonly Command[] => [
  listTokens(action, 'ls').summary('list tokens: tokens list'),
  getToken(action).summary('print a credential: tokens get'),
  createToken(action, 'add').summary('name a token and store its secret: tokens create'),
  setToken(action).summary('replace a secret: tokens set'),
  showToken(action).summary('show what is known of a token: tokens show'),
  removeTokens(action).summary('delete tokens: tokens rm'),
  addGrants(action, 'grant').summary('let an agent have credentials: grants add'),
];
