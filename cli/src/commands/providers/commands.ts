import { type Command, Option } from 'commander';
import { type Action, YES, nounCommand } from '../declare.ts';

/** `providers` and all below it. */
export const providersCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'providers',
    summary: 'providers: OAuth clients that the control plane authenticates (admin)',
    description:
      'Providers: OAuth clients whose secret the control plane holds, for credentials that the webhook cannot refresh alone. Their secrets go in and never out.',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the providers, without their secrets',
        examples: [
          'svault providers list',
          'svault providers list --format wide',
          "svault providers list --json | jq -r '.[].tokenUrl'",
        ],
        run: 'listProviders',
      },
      create: {
        says: 'add a client of an OAuth provider; asks for its secret, or reads it',
        options: [
          ['--name <name>', 'what it is called (needed)'],
          [
            '--token-url <url>',
            'the token endpoint (needed), byte for byte as it is stored with the credential',
          ],
          ['--client-id <id>', 'the client (needed), as it is stored with the credential'],
          AUTH_METHOD,
          ...SECRET,
        ],
        examples: [
          'svault providers create --name id --token-url https://id.example.org/token --client-id svault',
          'svault providers create --name id --token-url https://id.example.org/token --client-id svault < secret.txt',
          'svault providers create --name id --token-url https://id.example.org/token --client-id svault --auth-method private_key_jwt --from-file key.pem',
        ],
        run: 'createProvider',
      },
      edit: {
        says: 'change a provider; another token URL, client or way to authenticate needs the secret again',
        operands: { '<provider>': PROVIDER },
        options: [
          ['--name <name>', 'what it is called from now on'],
          ['--token-url <url>', 'the token endpoint'],
          ['--client-id <id>', 'the client'],
          AUTH_METHOD,
          ['--new-secret', 'ask for a new secret, or read it'],
          ...SECRET,
        ],
        examples: [
          'svault providers edit id --name identity',
          'svault providers edit id --new-secret < secret.txt',
          'svault providers edit id --auth-method private_key_jwt --from-file key.pem',
        ],
        run: 'editProvider',
      },
      rm: {
        says: 'delete a provider with its secret',
        operands: { '<provider>': PROVIDER },
        options: [YES],
        examples: [
          'svault providers rm id',
          'svault providers rm id --yes',
          'svault providers list    # the names',
        ],
        run: 'removeProvider',
      },
    },
  });

const PROVIDER = 'its name or its id';

const AUTH_METHOD = new Option(
  '--auth-method <method>',
  'how the client authenticates (default: client_secret_basic)',
).choices(['client_secret_basic', 'client_secret_post', 'private_key_jwt']);

const SECRET = [
  ['--from-file <file>', 'read the client secret, or the private key in PEM, from a file; - is stdin'],
  new Option('--algorithm <algorithm>', 'of private_key_jwt (default: RS256)').choices([
    'RS256',
    'PS256',
    'ES256',
    'EdDSA',
  ]),
  ['--key-id <id>', 'of private_key_jwt: the kid of its assertions'],
] as const;
