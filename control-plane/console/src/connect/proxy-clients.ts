import { keyInput, slugOf } from '../parts/slug.ts';
import type { Step } from '../parts/steps.tsx';

/** Address at which MCP clients call a proxy, or the control plane's own tools. */
const proxyAddress = (): string => `${window.location.origin}/api/proxy/mcp`;

/** What stands for a key that is not shown. */
const NO_KEY = 'mcp_…';

interface ProxyFacts {
  readonly name: string;
  /** Undefined: something else stands for it. */
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

/** In the order in which they are offered. */
export const PROXY_CLIENTS: readonly ProxyClient[] = [
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

/** The base URL that programs are given in place of an API's own. */
const apiAddress = (): string => `${window.location.origin}/api/proxy/http`;

/** Of an HTTP API, in the order in which they are offered. */
export const API_CLIENTS: readonly ProxyClient[] = [
  {
    id: 'curl',
    name: 'curl',
    steps: (facts) => [
      setKey('SVAULT_PROXY_KEY', facts, 'Set the key'),
      {
        says: 'Write what the API calls /path behind the base URL',
        text: `curl -sS ${apiAddress()}/path -H "Authorization: Bearer $SVAULT_PROXY_KEY"`,
      },
    ],
  },
  {
    id: 'git',
    name: 'git',
    steps: (facts) => [
      setKey('export SVAULT_PROXY_KEY', facts, 'Set the key'),
      {
        says: 'Have git ask the proxy, for a proxy with https://github.com as its base URL',
        text: `git config --global url.${apiAddress()}/.insteadOf https://github.com/
git config --global credential.${window.location.origin}.helper '!f() { echo username=svault; echo "password=$SVAULT_PROXY_KEY"; }; f'`,
      },
    ],
  },
];
