import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { tempDir } from '@svault/test-kit/temp-dir';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homeEnv, programOf } from './child.ts';
import { type OutsideService, SECRET, SERVICE, startOutsideService } from './outside-service.ts';
import { TOOLS, endSessions } from './steps.ts';

const MCP_REMOTE = programOf('mcp-remote/dist/proxy.js');
const ACCESS_TOKEN_MS = 3_600_000;

let service: OutsideService;
beforeAll(async () => {
  service = await startOutsideService();
});
afterAll(() => service.stop());

/** A host that knows only programs on this machine, and `mcp-remote` as the program. */
interface Host {
  readonly client: Client;
  connect(): Promise<void>;
  /** The next address that the program asks to have opened, once it listens for the answer. */
  opened(): Promise<string>;
  stop(): Promise<void>;
}

function host(...words: readonly string[]): Host {
  const home = tempDir();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [MCP_REMOTE, service.mcpUrl, '--transport', 'http-only', ...words],
    env: homeEnv(home.path, { MCP_REMOTE_CONFIG_DIR: home.path }),
    stderr: 'pipe',
  });
  const client = new Client({ name: 'a host', version: '1.0.0' });
  let told = '';
  transport.stderr?.on('data', (chunk: Buffer) => (told += chunk.toString()));
  return {
    client,
    connect: () => client.connect(transport),
    opened: async () => {
      for (;;) {
        const match = /by visiting:\n(http\S+)\n[^]*callback server running/.exec(told);
        if (match?.[1] !== undefined) {
          told = told.slice(match.index + match[0].length);
          return match[1];
        }
        if (transport.stderr === null) throw new Error('nothing is heard of the program');
        await once(transport.stderr, 'data');
      }
    },
    stop: async () => {
      await client.close();
      home.remove();
    },
  };
}

describe.each([
  ['as it is', []],
  ['where the server is asked for its revision first', ['--protocol', 'auto']],
] as const)('mcp-remote, %s', (_, words) => {
  test('comes by OAuth from a bare 401 to a credential, is refreshed, and asks again when it is revoked', async () => {
    const { client, connect, opened, stop } = host(...words);
    try {
      const [status] = await Promise.all([opened().then(service.allowAndFollow), connect()]);
      expect(status).toBe(200);
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name).toSorted()).toEqual(TOOLS);
      const got = await client.callTool({ name: 'get_credential', arguments: { service: SERVICE } });
      const { credentialUrl } = got.structuredContent as { credentialUrl: string };
      expect(await service.fetchCredential(credentialUrl)).toContain(SECRET);

      service.clock.advance(ACCESS_TOKEN_MS + 1);
      const who = await client.callTool({ name: 'whoami', arguments: {} });
      expect(who.structuredContent).toMatchObject({ id: service.agent.id });

      await endSessions(service);
      const refused = client.callTool({ name: 'whoami', arguments: {} }).then(
        () => 'answered',
        () => 'refused',
      );
      expect(new URL(await opened()).pathname).toBe('/api/mcp-oauth/authorize');
      await stop();
      expect(await refused).toBe('refused');
    } finally {
      await stop();
    }
  });

  test('comes with an agent’s key to the tools', async () => {
    const { client, connect, stop } = host(
      '--header',
      `Authorization: Bearer ${service.agent.apiKey}`,
      ...words,
    );
    try {
      await connect();
      const who = await client.callTool({ name: 'whoami', arguments: {} });
      expect(who.structuredContent).toMatchObject({ id: service.agent.id });
    } finally {
      await stop();
    }
  });
});
