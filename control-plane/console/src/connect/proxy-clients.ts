import { awsScope } from '@svault/shared/schemas';
import { shellWord } from '../parts/shell-word.ts';
import { keyInput, slugOf } from '../parts/slug.ts';
import type { Step } from '../parts/steps.tsx';
import type { Proxy } from './queries.ts';

/** Address at which MCP clients call a proxy, or the control plane's own tools. */
const proxyAddress = (): string => `${window.location.origin}/api/proxy/mcp`;

/** Placeholder for a key that is not shown. */
const NO_KEY = 'mcp_…';

interface ProxyFacts extends Pick<Proxy, 'name' | 'upstreamUrl' | 'region' | 'service'> {
  /** Undefined: a placeholder is shown. */
  readonly key: string | undefined;
}

/** A program that can call a proxy, and what it is told. The same texts are in `docs/guides`. */
interface ProxyClient {
  readonly id: string;
  readonly name: string;
  readonly steps: (facts: ProxyFacts) => readonly Step[];
}

/** A name that clients take for a server. */
const serverName = (name: string): string => slugOf(name) || 'svault-proxy';

const json = (value: unknown): string => JSON.stringify(value, undefined, 2);

/** The entry of a server in `mcpServers`. @param key or what the client puts in for it */
export const serverEntry = (key: string) => ({
  type: 'http',
  url: proxyAddress(),
  headers: { Authorization: `Bearer ${key}` },
});

const setKey = (variable: string, { key = NO_KEY }: ProxyFacts, says: string): Step => ({
  says,
  text: `${variable}=${key}`,
});

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'curl', version: '1' } },
});

/** Clients of an MCP server, in display order. */
const MCP_CLIENTS: readonly ProxyClient[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    steps: (facts) => [
      {
        says: 'Add the MCP server, in a terminal',
        text: `MCP_KEY=${facts.key ?? NO_KEY}
claude mcp add --scope user --transport http ${serverName(facts.name)} ${proxyAddress()} --header "Authorization: Bearer $MCP_KEY"`,
      },
      { says: 'See that it connects, in a terminal', text: 'claude mcp list' },
    ],
  },
  {
    id: 'cursor',
    name: 'Cursor',
    steps: (facts) => [
      setKey('export SVAULT_PROXY_KEY', facts, 'Set the key in the terminal that starts Cursor'),
      {
        says: 'Put this into ~/.cursor/mcp.json',
        text: json({ mcpServers: { [serverName(facts.name)]: serverEntry('${env:SVAULT_PROXY_KEY}') } }),
      },
    ],
  },
  {
    id: 'vs-code',
    name: 'VS Code',
    steps: (facts) => [
      {
        says: 'Put this into .vscode/mcp.json. VS Code asks for the key once',
        text: json({
          inputs: [
            {
              id: keyInput(facts.name),
              type: 'promptString',
              description: `svault key of ${facts.name}`,
              password: true,
            },
          ],
          servers: { [serverName(facts.name)]: serverEntry(`\${input:${keyInput(facts.name)}}`) },
        }),
      },
      { says: 'Paste the key when VS Code asks', text: facts.key ?? NO_KEY },
    ],
  },
  {
    id: 'curl',
    name: 'curl',
    steps: (facts) => [
      setKey('MCP_KEY', facts, 'Set the key'),
      {
        says: 'See what the proxy answers',
        text: `curl -sS ${proxyAddress()} -H "Authorization: Bearer $MCP_KEY" \\
  -H "Content-Type: application/json" -H "Accept: application/json, text/event-stream" \\
  -d '${INITIALIZE}'`,
      },
    ],
  },
];

/** The base URL that programs use in place of the API's own. */
const apiAddress = (): string => `${window.location.origin}/api/proxy/http`;

const curlOfApi: ProxyClient = {
  id: 'curl',
  name: 'curl',
  steps: (facts) => [
    setKey('SVAULT_PROXY_KEY', facts, 'Set the key'),
    {
      says: 'Write what the API calls /path behind the base URL',
      text: `curl -sS ${apiAddress()}/path -H "Authorization: Bearer $SVAULT_PROXY_KEY"`,
    },
  ],
};

/** @param placeholders names of variables that the program needs to start */
const anyProgram = (...placeholders: readonly string[]): ProxyClient => ({
  id: 'run',
  name: 'Any program',
  steps: ({ name }) => [
    {
      says: 'Start one that knows no base URL in svault run',
      text: `svault run --proxy ${shellWord(name)} ${placeholders.map((one) => `--placeholder ${one} `).join('')}-- COMMAND`,
    },
  ],
});

/** Clients of an HTTP API, in display order. */
const API_CLIENTS: readonly ProxyClient[] = [
  {
    id: 'sdk',
    name: 'SDK',
    steps: ({ key = NO_KEY }) => [
      { says: 'Set this as its base URL', text: apiAddress() },
      { says: 'Set this as its key or token', text: key },
    ],
  },
  curlOfApi,
  {
    id: 'git',
    name: 'git',
    steps: (facts) => [
      setKey('export SVAULT_PROXY_KEY', facts, 'Set the key'),
      {
        says: 'Have git ask the proxy',
        text: `git config --global url.${apiAddress()}/.insteadOf ${facts.upstreamUrl.replace(/\/?$/, '/')}
git config --global credential.${window.location.origin}.helper '!f() { echo username=svault; echo "password=$SVAULT_PROXY_KEY"; }; f'`,
      },
    ],
  },
  anyProgram(),
];

/** Clients of an API whose requests are signed for AWS. */
const AWS_CLIENTS: readonly ProxyClient[] = [
  {
    id: 'aws',
    name: 'AWS CLI',
    steps: ({ key = NO_KEY, ...proxy }) => [
      {
        says: 'Set the key. The secret key can be any text',
        text: `export AWS_ACCESS_KEY_ID=${key}\nexport AWS_SECRET_ACCESS_KEY=unused`,
      },
      {
        says: 'Name the base URL in each command',
        text: `aws --endpoint-url ${apiAddress()} ${awsScope(proxy, proxy.upstreamUrl)?.service ?? 'SERVICE'} COMMAND`,
      },
    ],
  },
  curlOfApi,
  anyProgram('AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'),
];

/** The clients that can call a proxy. */
export function clientsOf({
  kind,
  upstreamAuthType,
}: Pick<Proxy, 'kind' | 'upstreamAuthType'>): readonly ProxyClient[] {
  if (kind === 'mcp') return MCP_CLIENTS;
  return upstreamAuthType === 'aws_sigv4' ? AWS_CLIENTS : API_CLIENTS;
}
