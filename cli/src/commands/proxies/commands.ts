import { type Command, Option } from 'commander';
import { type Action, NAMED, YES, collect, nounCommand } from '../declare.ts';

/** `proxies` and all below it. */
export const proxiesCommand = (action: Action): Command =>
  nounCommand(action, {
    name: 'proxies',
    alias: 'px',
    summary: 'proxies: MCP servers and HTTP APIs that agents use without having the credential',
    description:
      'Proxies: MCP servers and HTTP APIs that agents use without having the credential. The webhook puts it into each call, at hosts that are allowed for it (svault set SERVICE --allow-host HOST).',
    load: () => import('./actions.ts'),
    commands: {
      list: {
        says: 'list the proxies, revoked ones too',
        options: [NAMED],
        examples: ['svault proxies list', 'svault proxies list --name linear', 'svault proxies list --json'],
        run: 'listProxies',
      },
      show: {
        says: 'show a proxy',
        operands: { '<proxy>': PROXY },
        examples: [
          'svault proxies show linear',
          'svault proxies show prx_3kTMd8Q2sWv0bXh1pZ9aRg',
          'svault proxies show linear --json | jq -r .upstreamUrl',
        ],
        run: 'showProxy',
      },
      create: {
        says: 'Create a proxy. Its key is printed on stdout; everything else goes to stderr.',
        summary: 'create a proxy and print its key',
        options: [
          ['--name <name>', 'what it is called (needed)'],
          [
            '--upstream-url <url>',
            'the MCP server (needed), such as https://mcp.example.com/mcp; for http the base URL of the API',
          ],
          new Option('--kind <kind>', 'http: an HTTP API (default: mcp, an MCP server)').choices([
            'mcp',
            'http',
          ]),
          ['--service <service>', 'the credential that is put into each call'],
          ALLOW_MISSING,
          ['--agent <agent>', 'the agent it is for: it is refused while that agent is not active'],
          HEADER,
          QUERY,
          FOLLOW_REDIRECTS,
          new Option(
            '--auth <type>',
            'sv-session: the upstream gets a session of the agent instead of a credential; aws-sigv4: calls of AWS are signed with it (default: token)',
          ).choices(['token', 'sv-session', 'aws-sigv4']),
          REGION,
          AWS_SERVICE,
        ],
        examples: [
          'svault proxies create --name linear --upstream-url https://mcp.linear.app/mcp --service linear',
          "svault proxies create --name search --upstream-url https://s.example/mcp --service search --header 'X-Api-Key: ${TOKEN}'",
          'svault proxies create --name github --kind http --upstream-url https://api.github.com --service github',
          "svault proxies create --name maps --kind http --upstream-url https://maps.example/api --service maps --query 'key=${TOKEN}'",
          'svault proxies create --name s3 --kind http --auth aws-sigv4 --upstream-url https://s3.eu-central-1.amazonaws.com --service aws',
          'svault proxies create --name own --upstream-url https://tools.example/mcp --auth sv-session --agent ci',
        ],
        run: 'createProxy',
      },
      edit: {
        says: 'change a proxy; options that are not given stay',
        operands: { '<proxy>': PROXY },
        options: [
          ['--name <name>', 'what it is called from now on'],
          ['--upstream-url <url>', 'the MCP server, or the base URL of the API'],
          ['--service <service>', 'the credential that is put into each call'],
          ALLOW_MISSING,
          ['--agent <agent>', 'the agent it is for; none: no agent'],
          HEADER,
          QUERY,
          FOLLOW_REDIRECTS,
          REGION,
          AWS_SERVICE,
          ['--no-follow-redirects', 'deny redirects to other origins again'],
        ],
        examples: [
          'svault proxies edit linear --service linear-2',
          "svault proxies edit search --header 'Authorization: Bearer ${TOKEN}'",
          'svault proxies edit linear --agent none',
        ],
        run: 'editProxy',
      },
      'reveal-key': {
        says: 'print the key of a proxy once more; the log records it',
        operands: { '<proxy>': PROXY },
        examples: [
          'svault proxies reveal-key linear',
          'svault proxies reveal-key linear > linear.key',
          'svault audit --proxy linear --type key-revealed    # who did so before',
        ],
        run: 'revealProxyKey',
      },
      revoke: {
        says: 'end the key of a proxy for good, and keep the proxy for the record',
        operands: { '<proxy>': PROXY },
        options: [YES],
        examples: [
          'svault proxies revoke linear',
          'svault proxies revoke linear --yes    # in a script',
          'svault audit --proxy linear --limit 10    # who used it last',
        ],
        run: 'revokeProxy',
      },
      rm: {
        says: 'delete a proxy; its key ends at once',
        operands: { '<proxy>': PROXY },
        options: [YES],
        examples: [
          'svault proxies rm linear',
          'svault proxies revoke linear    # keeps it for the record',
          'svault proxies rm linear --yes',
        ],
        run: 'removeProxy',
      },
    },
  });

const PROXY = 'its name or its id';

const ALLOW_MISSING = ['--allow-missing', 'also where no credential has that name yet'] as const;

const HEADER = new Option(
  '--header <header>',
  'a header that goes along, as NAME: VALUE, with ${TOKEN} for the credential or ${BASIC:USER} for HTTP Basic; may be repeated; default: the usual one, Authorization: Bearer ${TOKEN}, or with --query none',
).argParser(collect);

const QUERY = new Option(
  '--query <parameter>',
  'for kind http: a query parameter that is added, as NAME=VALUE, with ${TOKEN} for the credential; may be repeated; none: no parameter',
).argParser(collect);

const REGION = [
  '--region <region>',
  'with aws-sigv4: what calls are signed for, such as eu-central-1; host: what the host of the upstream tells (default)',
] as const;

const AWS_SERVICE = [
  '--aws-service <name>',
  'with aws-sigv4: the service that calls are signed for, such as s3; host: what the host of the upstream tells (default)',
] as const;

const FOLLOW_REDIRECTS = [
  '--follow-redirects',
  'for kind http: have the webhook follow redirects of GET and HEAD to other origins, without the credential',
] as const;
