import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from '@svault/compose/free-port';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { BASELINES, type Revision } from './conformance-baseline.ts';
import { type KeyAddingProxy, startKeyAddingProxy } from './key-adding-proxy.ts';
import { type OutsideService, startOutsideService } from './outside-service.ts';
import { runSuite } from './suite.ts';

const FILE = 'conformance-baseline.ts';

const apiKey = (): string => service.agent.apiKey;
const target = (): string => service.url;

let service: OutsideService;
let proxy: KeyAddingProxy;
beforeAll(async () => {
  proxy = await startKeyAddingProxy({ target, apiKey });
  service = await startOutsideService({
    // The suite sends the address that it was given as its `Origin`.
    SV_MCP_ALLOWED_ORIGINS: proxy.url,
    SV_LIMIT_AGENT_CREDENTIALS: '10000',
    SV_LIMIT_MCP_HANDSHAKE: '10000',
    SV_LIMIT_USER_AGGREGATE: '10000',
  });
});
afterAll(async () => {
  await proxy.close();
  await service.stop();
});

const runServerSuite = (url: string, revision: Revision) =>
  runSuite(['server', '--url', `${url}/api/agents/mcp`, '--requirements', revision]);

describe('the public conformance suite', () => {
  test.each(['2025-11-25', '2026-07-28'] as const)(
    `finds at the server, at the wire of %s, what ${FILE} says`,
    async (revision) => {
      const { findings } = await runServerSuite(proxy.url, revision);
      expect(findings).toEqual({ scenarios: BASELINES[revision], malformed: [] });
    },
  );

  test(`finds at the authorization server what ${FILE} says`, async () => {
    const port = await freePort();
    const { client_id: clientId } = await registered(`http://127.0.0.1:${port}/callback`);
    const words = ['authorization', '--url', service.url, '--client-id', clientId];
    const { findings } = await runSuite(
      [...words, '--resource', service.mcpUrl, '--port', String(port)],
      async (suite) => {
        const [address] = await suite.says(/^http\S+\/authorize\?\S+$/m);
        // It says so before it listens for what comes back.
        await vi.waitFor(() => connected(port), { timeout: 20_000 });
        expect(await service.allowAndFollow(address)).toBe(200);
      },
    );
    expect(findings).toEqual({ scenarios: BASELINES.authorization, malformed: [] });
  });

  test('would find a broken answer', async () => {
    const spoil = (body: string): string => body.replaceAll('"inputSchema"', '"inputSchem"');
    const broken = await startKeyAddingProxy({ target, apiKey, spoil });
    try {
      const { findings } = await runServerSuite(broken.url, '2025-11-25');
      expect(findings.scenarios['tools-list']).not.toBe('passes');
      expect(findings.malformed).toContainEqual(expect.stringMatching(/^tools-list:wire-schema-valid /));
    } finally {
      await broken.close();
    }
  });
});

/** @throws the connection's error where nobody listens */
async function connected(port: number): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.destroy();
}

async function registered(redirectUri: string): Promise<{ client_id: string }> {
  const response = await fetch(`${service.url}/api/mcp-oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], client_name: 'the suite' }),
  });
  return (await response.json()) as { client_id: string };
}
