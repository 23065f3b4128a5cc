import { Command, Option } from 'commander';
import { type Action, NAMED, examples } from '../declare.ts';
import { TOKEN_TYPES, addSecretOptions } from './options.ts';

/** `tokens` and all below it. Those of its commands that have a shortcut are made by a function each. */
export function tokensCommand(action: Action): Command {
  const tokens = new Command('tokens')
    .alias('tk')
    .summary('tokens: the credentials, by name, and their secrets')
    .description(
      'Credentials: their names and descriptions, which the control plane has, and their secrets, which only the webhook has.',
    );
  for (const command of [
    listTokens(action),
    getToken(action),
    showToken(action).alias('info'),
    createToken(action).alias('new'),
    setToken(action).alias('up'),
    editToken(action),
    removeTokens(action),
    refreshToken(action),
    tokenHistory(action),
    storeTicket(action),
  ])
    tokens.addCommand(command);
  return tokens;
}

export const listTokens = (action: Action, name = 'list'): Command =>
  new Command(name)
    .description('list the credentials; as an agent, those it is granted')
    .option(...NAMED)
    .addHelpText('after', examples('svault ls', 'svault ls --name github', 'svault tokens list --json'))
    .action(action(() => import('./list-and-show.ts'), 'listTokens'));

export const getToken = (action: Action, name = 'get'): Command =>
  new Command(name)
    .description('print a credential: the value alone, with no newline added where stdout is no terminal')
    .argument('<service>', SERVICE)
    .option('--check', 'print no secret; exit 0 when there is a value and 6 when it is empty')
    .option('--field <name>', 'print another field of it, such as refreshToken, privateKey or expiryTime')
    .option('--credential-process', 'print it as AWS tools read it from a credential_process')
    .option('--wait <seconds>', 'where a person has to approve it first: wait that long for the decision')
    .option('--reason <text>', 'what it is for, which the person who decides reads')
    .addHelpText(
      'after',
      examples(
        'svault get github | gh auth login --with-token',
        'svault get tls --field privateKey > key.pem',
        'svault get deploy --check || svault set deploy',
        'svault get prod-db --wait 300 --reason "Restore the orders table"',
      ),
    )
    .action(action(() => import('./get.ts'), 'getToken'));

export const showToken = (action: Action, name = 'show'): Command =>
  new Command(name)
    .description('show a credential: its description and what the webhook knows of it, never the secret')
    .argument('<service>', SERVICE)
    .addHelpText(
      'after',
      examples(
        'svault show github',
        'svault show github --json | jq .webhook.allowedHosts',
        'svault show github --json | jq -r .webhook.version    # for set --if-version',
      ),
    )
    .action(action(() => import('./list-and-show.ts'), 'showToken'));

export const createToken = (action: Action, name = 'create'): Command =>
  addDescription(
    addSecretOptions(
      new Command(name)
        .description(
          'create a credential and store its secret at the webhook; asks for the secret, or reads it',
        )
        .argument('<service>', SERVICE)
        .addOption(new Option('--type <type>', 'what it is (default: PlainText)').choices(TOKEN_TYPES)),
    )
      .option('--empty', 'create the name only; store its secret later with set')
      .addHelpText(
        'after',
        examples(
          'svault add github                                    # asks for the secret',
          'svault add shop --type SSHKey --from-file id_ed25519',
          'svault add login --type TOTP < otpauth-address.txt',
          'svault add tls --type Certificate --from-file chain.pem --field privateKey=@key.pem',
          'svault add aws --preset aws-sts                      # asks for the access key',
          'svault add gcp --preset gcp-service-account --from-file key.json',
          'svault add app --preset github-app --from-file app.pem',
          'svault add crm --preset oauth                        # asks for client and tokens',
          'svault add api --allow-host api.example.org          # a proxy may send it there',
          'svault add gh --allow-host api.github.com --allow-request "GET /repos/acme/**"',
          'svault add prod-db --require-approval credential --standing 1h',
        ),
      ),
  ).action(action(() => import('./create.ts'), 'createToken'));

export const setToken = (action: Action, name = 'set'): Command =>
  addSecretOptions(
    new Command(name)
      .description(
        'replace the secret of a credential at the webhook (admin); asks whether its restrictions stay, or wants them again',
      )
      .argument('<service>', SERVICE)
      .addOption(new Option('--type <type>', 'what it is (default: as it was)').choices(TOKEN_TYPES)),
  )
    .option('--if-version <version>', 'only where the webhook holds this version; 0: none')
    .addHelpText(
      'after',
      examples(
        'svault set github                                    # asks for the secret',
        'svault set github --delivery proxy-only --allow-host api.github.com < token.txt',
        'svault set api --allow-host api.example.org --if-version 3',
      ),
    )
    .action(action(() => import('./set.ts'), 'setToken'));

const editToken = (action: Action): Command =>
  addDescription(
    new Command('edit')
      .description('change the description of a credential (admin); options that are not given stay')
      .argument('<service>', SERVICE),
  )
    .addHelpText(
      'after',
      examples(
        'svault tokens edit github --tags ci,release',
        'svault tokens edit github --description "Pushes releases; read and write"',
        "svault tokens edit github --notes 'Owner: platform team' --name GitHub",
      ),
    )
    .action(action(() => import('./actions.ts'), 'editToken'));

export const removeTokens = (action: Action, name = 'rm'): Command =>
  new Command(name)
    .description('delete credentials, their grants, and their secrets at the webhook (admin)')
    .argument('<service...>', SERVICE)
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples('svault rm github', 'svault rm github npm', 'svault rm old-token --yes    # in a script'),
    )
    .action(action(() => import('./actions.ts'), 'removeTokens'));

const refreshToken = (action: Action): Command =>
  new Command('refresh')
    .description('refresh a credential at its provider now (admin)')
    .argument('<service>', SERVICE)
    .addHelpText(
      'after',
      examples(
        'svault tokens refresh crm',
        'svault tokens refresh crm --json | jq -r .outcome',
        'svault tokens refresh crm || svault tokens history crm --limit 5',
      ),
    )
    .action(action(() => import('./actions.ts'), 'refreshToken'));

const tokenHistory = (action: Action): Command =>
  new Command('history')
    .description('list what happened to a credential, newest first')
    .argument('<service>', SERVICE)
    .option('--limit <count>', 'how many', '50')
    .addHelpText(
      'after',
      examples(
        'svault tokens history github --limit 10',
        'svault tokens history github --format wide    # with ids and exact times',
        "svault tokens history github --json | jq '.[].eventType'",
      ),
    )
    .action(action(() => import('./actions.ts'), 'tokenHistory'));

const storeTicket = (action: Action): Command =>
  new Command('store-ticket')
    .description(
      'print an address and a one-time ticket with which somebody else can store the secret of a credential',
    )
    .argument('<service>', SERVICE)
    .option('--if-version <version>', 'only where the webhook holds this version; 0: none')
    .addHelpText(
      'after',
      examples(
        'svault tokens store-ticket github',
        'svault tokens store-ticket github --if-version 0    # only if nothing is stored yet',
        'svault tokens store-ticket github --json | jq -r .url',
      ),
    )
    .action(action(() => import('./actions.ts'), 'storeTicket'));

const addDescription = (command: Command): Command =>
  command
    .option('--name <name>', 'what people call it')
    .option('--description <text>', 'what it is for; agents see it')
    .option('--notes <text>', 'what else is to be known')
    .option('--tags <tags>', 'separated by commas; an empty text: none');

const SERVICE = 'name of the credential';
