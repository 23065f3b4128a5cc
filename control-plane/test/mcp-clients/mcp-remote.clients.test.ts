import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { freePort } from '@svault/compose/free-port';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { homeEnv } from './child.ts';
import { type OutsideService, SECRET, SERVICE, startOutsideService } from './outside-service.ts';
import { TOOLS, endSessions } from './steps.ts';

const MCP_REMOTE = fileURLToPath(import.meta.resolve('mcp-remote/dist/proxy.js'));
/** What it says when it has opened a browser, and then listens. */
const ASKS = /by visiting:\n(http\S+)\n[^]*callback server running/;
const ACCESS_TOKEN_MS = 3_600_000;

let service: OutsideService;
beforeAll(async () => {
  service = await startOutsideService();
});
afterAll(() => service.stop());

/** Where `mcp-remote` keeps what it was given, for the length of a test. */
let home: ReturnType<typeof tempDir>;
/** Where it listens for a code: the port that it would choose by itself may be taken. */
let callbackPort: string;
const started: Client[] = [];
beforeEach(async () => {
  home = tempDir();
  callbackPort = String(await freePort());
});
afterEach(async () => {
  for (const client of started.splice(0)) await client.close();
  home.remove();
});

/** A host that knows only programs on this machine, with `mcp-remote` as the program. */
interface Host {
  readonly client: Client;
  connect(): Promise<void>;
  /** Plays the person, as soon as the program asks for one and listens for the answer. */
  allow(): Promise<void>;
}

function host(words: readonly string[] = []): Host {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE, service.mcpUrl, callbackPort, ...words],
    env: homeEnv(home.path, { MCP_REMOTE_CONFIG_DIR: home.path }),
    stderr: 'pipe',
  });
  const client = new Client({ name: 'a host', version: '1.0.0' });
  started.push(client);
  let told = '';
  const { stderr } = transport;
  if (stderr === null) throw new Error('nothing will be heard of the program');
  stderr.on('data', (chunk: Buffer) => (told += chunk.toString()));
  const ended = once(stderr, 'end');
  return {
    client,
    connect: () => client.connect(transport),
    allow: async () => {
      let asks = ASKS.exec(told);
      while (asks === null) {
        const over = await Promise.race([once(stderr, 'data').then(() => false), ended.then(() => true)]);
        if (over) throw new Error(`it asked nobody: ${told}`);
        asks = ASKS.exec(told);
      }
      told = told.slice(asks.index + asks[0].length);
      expect(await service.allowAndFollow(asks[1] ?? '')).toBe(200);
    },
  };
}

const whoami = async (client: Client): Promise<unknown> =>
  (await client.callTool({ name: 'whoami', arguments: {} })).structuredContent;

describe.each([
  ['as it is', []],
  ['where the server is asked for its revision first', ['--protocol', 'auto']],
] as const)('mcp-remote, %s', (_, words) => {
  test('comes by OAuth from a bare 401 to a credential, is refreshed, and asks again when it is revoked', async () => {
    const { client, connect, allow } = host(words);
    await Promise.all([allow(), connect()]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name).toSorted()).toEqual(TOOLS);
    const got = await client.callTool({ name: 'get_credential', arguments: { service: SERVICE } });
    const { credentialUrl } = got.structuredContent as { credentialUrl: string };
    expect(await service.fetchCredential(credentialUrl)).toContain(SECRET);

    service.clock.advance(ACCESS_TOKEN_MS + 1);
    expect(await whoami(client)).toMatchObject({ id: service.agent.id });

    await endSessions(service);
    const [, again] = await Promise.all([allow(), whoami(client)]);
    expect(again).toMatchObject({ id: service.agent.id });
  });

  test('comes with an agent’s key to the tools', async () => {
    const { client, connect } = host([
      ...['--header', `Authorization: Bearer ${service.agent.apiKey}`],
      ...words,
    ]);
    await connect();
    expect(await whoami(client)).toMatchObject({ id: service.agent.id });
  });
});

describe('mcp-remote, started again', () => {
  test('needs nobody while its session lasts', async () => {
    const first = host();
    await Promise.all([first.allow(), first.connect()]);
    await first.client.close();
    service.clock.advance(ACCESS_TOKEN_MS + 1);
    const second = host();
    await second.connect();
    expect(await whoami(second.client)).toMatchObject({ id: service.agent.id });
  });
});
