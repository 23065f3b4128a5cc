import nodeProgram from './agent.mjs.txt?raw';
import pythonProgram from './agent.py.txt?raw';
import { keyInput } from '../../parts/slug.ts';
import type { Step } from '../../parts/steps.tsx';

/** What a snippet is about. */
export interface SnippetFacts {
  /** Origin of the control plane. */
  readonly origin: string;
  /** The key of the agent, or what stands for it. */
  readonly key: string;
  readonly service: string;
  /** Of the agent; empty where none is chosen. */
  readonly agent: string;
}

/** A program that can act as an agent, and how it is let in. The same texts are in `docs/guides`; a test compares them. */
export interface Client {
  readonly id: string;
  readonly name: string;
  /** The client calls the MCP server, so the agent must have MCP on. */
  readonly mcp: boolean;
  readonly steps: (facts: SnippetFacts) => readonly Step[];
  /** By the key of the agent, where `steps` need none. */
  readonly withKey?: (facts: SnippetFacts) => readonly Step[];
}

const mcpAddress = ({ origin }: SnippetFacts): string => `${origin}/api/agents/mcp`;

const ALLOW = 'A browser opens: choose the agent, and allow it.';

const setKey = ({ key }: SnippetFacts): Step => ({
  says: 'Set the key in the terminal that starts it',
  text: `export SVAULT_KEY=${key}`,
});

const CLAUDE_ADD = 'claude mcp add --scope user --transport http svault';

const claudeCode: Client = {
  id: 'claude-code',
  name: 'Claude Code',
  mcp: true,
  steps: (facts) => [
    { says: 'Add the MCP server, in a terminal', text: `${CLAUDE_ADD} ${mcpAddress(facts)}` },
    { says: `In Claude Code run /mcp and choose svault. ${ALLOW}` },
  ],
  withKey: (facts) => [
    {
      says: 'Add the MCP server with the key, in a terminal',
      text: `KEY=${facts.key}\n${CLAUDE_ADD} ${mcpAddress(facts)} --header "Authorization: Bearer $KEY"`,
    },
  ],
};

const cursor: Client = {
  id: 'cursor',
  name: 'Cursor',
  mcp: true,
  steps: (facts) => [
    {
      says: 'Put this into ~/.cursor/mcp.json',
      text: `{ "mcpServers": { "svault": { "url": "${mcpAddress(facts)}" } } }`,
    },
    { says: ALLOW },
  ],
  withKey: (facts) => [
    setKey(facts),
    {
      says: 'Put this into ~/.cursor/mcp.json',
      text: `{ "mcpServers": { "svault": { "url": "${mcpAddress(facts)}",
  "headers": { "Authorization": "Bearer \${env:SVAULT_KEY}" } } } }`,
    },
  ],
};

const vsCode: Client = {
  id: 'vs-code',
  name: 'VS Code',
  mcp: true,
  steps: (facts) => [
    {
      says: 'Put this into .vscode/mcp.json',
      text: `{ "servers": { "svault": { "type": "http", "url": "${mcpAddress(facts)}" } } }`,
    },
    { says: ALLOW },
  ],
  withKey: (facts) => [
    {
      says: 'Put this into .vscode/mcp.json. VS Code asks for the key once',
      text: `{ "inputs": [{ "id": "${keyInput(facts.agent)}", "type": "promptString", "description": "svault key", "password": true }],
  "servers": { "svault": { "type": "http", "url": "${mcpAddress(facts)}",
    "headers": { "Authorization": "Bearer \${input:${keyInput(facts.agent)}}" } } } }`,
    },
    { says: 'Paste the key when VS Code asks', text: facts.key },
  ],
};

/** The program of a guide up to its last lines, which use the credential at the service of the example. */
const upTo = (program: string, last: string): string => program.slice(0, program.indexOf(last));

/** A text in a program in Python or JavaScript. What turns the reading direction is escaped: the program is read before it is run. */
const literal = (text: string): string =>
  JSON.stringify(text).replaceAll(/[\p{Cf}\p{Zl}\p{Zp}]/gu, (mark) =>
    mark.length === 1 ? `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}` : mark,
  );

const environment = ({ origin, key }: SnippetFacts): string => `SVAULT_BASE_URL=${origin} SVAULT_KEY=${key}`;

const python: Client = {
  id: 'python',
  name: 'Python',
  mcp: false,
  steps: (facts) => [
    {
      says: 'Save as agent.py. It needs the standard library alone',
      text: `${upTo(pythonProgram, 'token = get_credential(')}token = get_credential(${literal(facts.service)})
# The credential is token["accessToken"].
print("Fetched", token["serviceName"])
`,
    },
    { says: 'Run it', text: `${environment(facts)} python3 agent.py` },
  ],
};

const node: Client = {
  id: 'node',
  name: 'Node',
  mcp: false,
  steps: (facts) => [
    {
      says: 'Save as agent.mjs. It needs Node 20 and no package',
      text: `${upTo(nodeProgram, 'try {\n')}try {
  const token = await getCredential(${literal(facts.service)});
  // The credential is token.accessToken.
  console.log('Fetched', token.serviceName);
${nodeProgram.slice(nodeProgram.indexOf('} catch (error)'))}`,
    },
    { says: 'Run it', text: `${environment(facts)} node agent.mjs` },
  ],
};

/** The service name in an address between double quotes of a shell, in which an interactive one expands `!`. */
const queryOf = ({ service }: SnippetFacts): string =>
  encodeURIComponent(service).replaceAll('!', '%21').replaceAll("'", '%27');

/** Fetches into a variable of the shell, and fails with the code of a denial. */
const fetchLines = (facts: SnippetFacts, variable: string): readonly string[] => [
  String.raw`DENIED='error("\(.code): \(.error) (request \(.requestId))")'`,
  `URL=$(curl -sS --retry 3 --retry-max-time 65 "${facts.origin}/api/agents/credentials?service=${queryOf(facts)}" \\`,
  `  -H "Authorization: Bearer $SVAULT_KEY" -H "Accept: application/json" | jq -ers "last | .url // $DENIED")`,
  `${variable}=$(curl -sS "\${URL%%\\?*}" -H "Authorization: Bearer \${URL#*ticket=}" | jq -er ".token.accessToken // $DENIED")`,
];

const curl: Client = {
  id: 'curl',
  name: 'curl',
  mcp: false,
  steps: (facts) => [
    { says: 'Set the key', text: `SVAULT_KEY=${facts.key}` },
    {
      says: 'Fetch. It needs curl and jq',
      text: [...fetchLines(facts, 'CREDENTIAL'), 'echo "Fetched ${#CREDENTIAL} characters"'].join('\n'),
    },
  ],
};

const ci: Client = {
  id: 'ci',
  name: 'GitHub Actions',
  mcp: false,
  steps: (facts) => [
    { says: 'Put the key into the secrets of the repository, as SVAULT_KEY', text: facts.key },
    {
      says: 'Add this step. What uses the credential follows its last line',
      text: [
        '- name: Fetch the credential',
        '  shell: bash',
        '  env:',
        '    SVAULT_KEY: ${{ secrets.SVAULT_KEY }}',
        '  run: |',
        ...fetchLines(facts, 'CREDENTIAL').map((line) => `    ${line}`),
        '    echo "::add-mask::$CREDENTIAL"',
      ].join('\n'),
    },
  ],
};

/** In the order in which they are offered. */
export const CLIENTS: readonly Client[] = [claudeCode, cursor, vsCode, python, node, curl, ci];
