import manifest from '../package.json' with { type: 'json' };
import { Command } from 'commander';
import { agentsCommand } from './commands/agents/commands.ts';
import { contextCommand, useCommand } from './commands/contexts/commands.ts';
import { type Action, type Surroundings, examples, lazily } from './commands/declare.ts';
import { accountCommand } from './commands/account/commands.ts';
import { approvalsCommand } from './commands/approvals/commands.ts';
import { approveCommand } from './commands/approve/commands.ts';
import { adminKeysCommand } from './commands/admin-keys/commands.ts';
import { auditCommand } from './commands/audit/commands.ts';
import { limitsCommand } from './commands/limits/commands.ts';
import { membersCommand } from './commands/members/commands.ts';
import { notificationsCommand } from './commands/notifications/commands.ts';
import { policiesCommand } from './commands/policies/commands.ts';
import { providersCommand } from './commands/providers/commands.ts';
import { proxiesCommand } from './commands/proxies/commands.ts';
import { reachCommand } from './commands/reach/commands.ts';
import { runCommand } from './commands/run/commands.ts';
import { sessionsCommand } from './commands/sessions/commands.ts';
import { foldersCommand } from './commands/folders/commands.ts';
import { addGrants, grantsCommand } from './commands/grants/commands.ts';
import { completeNamesCommand, completionCommand } from './commands/completion/commands.ts';
import { doctorCommand } from './commands/doctor/commands.ts';
import { execCommand } from './commands/exec/commands.ts';
import { explainCommand } from './commands/explain/commands.ts';
import { importCommand } from './commands/import/commands.ts';
import { loginCommand, logoutCommand, whoamiCommand } from './commands/login/commands.ts';
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
import { addGlobalFlags, globalFlagsPage } from './global-flags.ts';
import { plainLine } from './output/plain-line.ts';
import { wantsColor } from './output/wants-color.ts';

type Declare = (action: Action) => Command;

/** Those that read all others. */
const ABOUT_ALL: ReadonlySet<string> = new Set(['completion', 'help']);

/**
 * The whole command line.
 * @param first the word that a command line begins with: where a command has that name, it is declared alone, which takes a start
 *   a tenth less. Help, aliases and mistakes need all.
 */
export function createProgram(surroundings: Surroundings, first?: string): Command {
  const { terminal } = surroundings;
  const action = lazily(surroundings);
  const program = new Command('svault')
    .description('Command-line client of svault, which controls how software agents obtain credentials.')
    .version(manifest.version, '-v, --version', 'show the version and exit')
    .helpOption('-h, --help', 'show help and exit')
    .helpCommand(false)
    .configureOutput({
      writeOut: (text) => terminal.out(text),
      writeErr: (text) => terminal.err(text),
      getOutHasColors: () => wantsColor(surroundings),
    })
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
    .addHelpText('afterAll', `\n${ALSO}`);
  addGlobalFlags(program);
  leadingOn(program);
  const groups: readonly (readonly [heading: string, commands: Readonly<Record<string, Declare>>])[] = [
    [
      'Sign-in:',
      {
        login: loginCommand,
        logout: logoutCommand,
        whoami: whoamiCommand,
        use: useCommand,
        context: contextCommand,
      },
    ],
    [
      'Shortcuts:',
      {
        ls: (action) => listTokens(action, 'ls').summary('list the credentials: tokens list'),
        get: (action) => getToken(action).summary('print a credential: tokens get'),
        add: (action) => createToken(action, 'add').summary('store a new credential: tokens create'),
        set: (action) => setToken(action).summary('replace the secret of a credential: tokens set'),
        show: (action) => showToken(action).summary('show a credential, without its secret: tokens show'),
        rm: (action) => removeTokens(action).summary('delete credentials: tokens rm'),
        grant: (action) =>
          addGrants(action, 'grant').summary('grant an agent access to credentials: grants add'),
      },
    ],
    [
      'Management:',
      {
        tokens: tokensCommand,
        agents: agentsCommand,
        grants: grantsCommand,
        folders: foldersCommand,
        policies: policiesCommand,
        proxies: proxiesCommand,
        approvals: approvalsCommand,
        approve: approveCommand,
        reach: reachCommand,
        vault: vaultCommand,
      },
    ],
    [
      'Account:',
      {
        audit: auditCommand,
        limits: limitsCommand,
        account: accountCommand,
        members: membersCommand,
        notifications: notificationsCommand,
        sessions: sessionsCommand,
        'admin-keys': adminKeysCommand,
        providers: providersCommand,
      },
    ],
    ['Webhook:', { webhook: webhookCommand }],
    [
      'Here:',
      {
        exec: execCommand,
        run: runCommand,
        import: importCommand,
        completion: () => completionCommand(program, surroundings),
        doctor: doctorCommand,
        explain: explainCommand,
        help: () => helpCommand(program, surroundings),
        version: () => versionCommand(surroundings),
      },
    ],
  ];
  const named = [
    { heading: '', name: 'complete-names', declare: completeNamesCommand },
    ...groups.flatMap(([heading, commands]) =>
      Object.entries(commands).map(([name, declare]) => ({ heading, name, declare })),
    ),
  ];
  const alone = ABOUT_ALL.has(first ?? '') ? undefined : named.find(({ name }) => name === first);
  for (const { heading, declare } of alone === undefined ? named : [alone])
    program
      .commandsGroup(heading)
      .addCommand(inheriting(program, declare(action)), { hidden: heading === '' });
  return program;
}

/** Commander hands its settings to commands that it makes itself, not to those that are added. */
function inheriting(parent: Command, command: Command): Command {
  const { [command.name()]: alias } = COMMON_ALIASES;
  if (alias !== undefined && !command.aliases().includes(alias) && !isTaken(parent, alias))
    command.alias(alias);
  leadingOn(command.copyInheritedSettings(parent)).helpCommand(false);
  listingAlone(command);
  for (const each of command.commands) inheriting(command, each);
  return command;
}

/**
 * A noun alone lists, where it has a list that needs nothing. It is no default command of commander: that would take a
 * misspelt word for an operand of the list.
 */
function listingAlone(command: Command): void {
  const list = command.commands.find((each) => each.name() === 'list');
  if (list === undefined || list.registeredArguments.some(({ required }) => required)) return;
  command
    .description(`${command.description()} Without a command: list.`)
    .allowExcessArguments()
    .action(async () => {
      // Commander's own refusal, which proposes what is spelt alike.
      if (command.args.length > 0) (command as Command & { unknownCommand(): never }).unknownCommand();
      await list.parseAsync([], { from: 'user' });
    });
}

/** What people type for these names whatever the noun. */
const COMMON_ALIASES: Readonly<Record<string, string>> = { list: 'ls', rm: 'delete' };

const isTaken = (parent: Command, name: string): boolean =>
  parent.commands.some((each) => each.name() === name || each.aliases().includes(name));

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

const ALSO = 'Also: svault help global-flags, svault help exit-codes';

/** Pages that are about all commands. */
const TOPICS = (program: Command): Readonly<Record<string, () => string>> => ({
  'exit-codes': () => `${exitCodeTable()}\n`,
  'global-flags': () => globalFlagsPage(program),
});

/** `help`, for who types that first: the same as `--help` behind a command, or a topic. */
const helpCommand = (program: Command, { terminal }: Surroundings): Command =>
  new Command('help')
    .description('print what svault does, what a command of it does, or a topic')
    .argument('[command...]', 'a command, such as tokens get, or a topic: exit-codes, global-flags')
    .addHelpText(
      'after',
      examples('svault help agents create', 'svault help exit-codes', 'svault help global-flags'),
    )
    .action((words: readonly string[]) => {
      const topic = words.length === 1 ? TOPICS(program)[words[0] ?? ''] : undefined;
      if (topic === undefined) commandAt(program, words).help();
      else terminal.out(topic());
    });

const versionCommand = ({ terminal }: Surroundings): Command =>
  new Command('version')
    .description('print the version')
    .addHelpText('after', examples('svault version', 'svault doctor    # compares it with the control plane'))
    .action(() => terminal.out(`${manifest.version}\n`));

function commandAt(from: Command, [word, ...others]: readonly string[]): Command {
  if (word === undefined) return from;
  const next = from.commands.find((each) => each.name() === word || each.aliases().includes(word));
  return next === undefined ? from.error(`error: unknown command '${word}'`) : commandAt(next, others);
}
