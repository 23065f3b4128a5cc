/** Both clients, packed and installed into an empty folder, as agents of a real pair. */
import { once } from 'node:events';
import { type IncomingHttpHeaders, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { randomToken } from '@svault/shared';
import { jwkThumbprint } from '@svault/shared/sealed';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type AgentsOfPair, agentsOfPair } from './support/agents-of-pair.ts';
import { type Call, type InstalledClient, type Outcome, PACKED_CLIENTS } from './support/packed-clients.ts';

const SECRET = `the secret of ${randomToken()}`;

let agents: AgentsOfPair;
beforeAll(async () => {
  agents = await agentsOfPair();
  await agents.store('github', SECRET);
  // 64 KiB, each byte escaped: nothing that a webhook delivers is larger.
  await agents.store('largest', '\u0001'.repeat(64 * 1024));
});
afterAll(() => agents.pair.close());

describe.each(PACKED_CLIENTS)('$name', (client) => {
  const missing = !client.isInstalled;
  if (missing)
    process.stderr.write(`\nNOT TESTED: ${client.name}, whose toolchain is not installed here\n\n`);
  const folder = tempDir();
  let drive: InstalledClient['drive'];
  beforeAll(async () => {
    if (!missing) ({ drive } = await client.install(folder.path));
  });
  afterAll(() => folder.remove());

  const only = async (env: Readonly<Record<string, string>>, call: Call): Promise<Outcome> => {
    const [outcome] = await drive(env, [call]);
    if (outcome === undefined) throw new Error('the driver printed no outcome');
    return outcome;
  };

  test.skipIf(missing)('fetches a credential, and shows its key to the control plane alone', async () => {
    const { env } = await agents.agent('github');
    const wireBefore = agents.pair.recorded().length;
    const { result, shown } = await only(env, { call: 'get', service: 'github' });
    expect(result).toMatchObject({ serviceName: 'github', tokenType: 'PlainText', accessToken: SECRET });
    expect(new Date(result.createdAt).getTime()).toBe(agents.pair.clock.now());
    const wire = agents.pair.recorded().subarray(wireBefore);
    expect([wire.includes('/v1/credential?ticket='), tracesOf(env.SVAULT_KEY, wire)]).toEqual([true, []]);
    expect([tracesOf(SECRET, Buffer.from(shown)), tracesOf(env.SVAULT_KEY, Buffer.from(shown))]).toEqual([
      [],
      [],
    ]);
  });

  test.skipIf(missing)('fetches the largest credential', async () => {
    const { env } = await agents.agent('largest');
    const { result } = await only(env, { call: 'get', service: 'largest' });
    expect(result.accessToken).toBe('\u0001'.repeat(64 * 1024));
  });

  test.skipIf(missing).each(['P-256', 'P-384', 'X25519'])(
    'opens what is sealed to its own key of %s',
    async (curve) => {
      const [own, another] = (await drive({}, [
        { call: 'create_sealing_key', curve },
        { call: 'create_sealing_key', curve },
      ])) as [Outcome, Outcome];
      const service = `sealed ${randomToken(8)}`;
      await agents.store(service, SECRET, { delivery: 'sealed', recipients: [own.result.public] });
      const { id, env } = await agents.agent(service);
      const sealingKeyThumbprint = jwkThumbprint(own.result.public);
      await agents.pair.admin.call('PATCH', `/api/agents/${id}`, { sealingKeyThumbprint });
      const get = { call: 'get', service } as const;
      const outcomes = await drive(env, [
        { ...get, options: { sealing_key: own.result.key } },
        { ...get, options: { sealing_key: JSON.stringify(own.result.key) } },
        get,
        { ...get, options: { sealing_key: another.result.key } },
        { ...get, options: { sealing_key: own.result.key, require_sealed: true } },
      ]);
      expect(
        outcomes.map(({ result, error }) => result?.accessToken ?? [error?.name, error?.reason]),
      ).toEqual([SECRET, SECRET, ['SealedError', 'no_key'], ['SealedError', 'other_key'], SECRET]);
    },
  );

  test.skipIf(missing)('names the code of a denial, by the control plane and by the webhook', async () => {
    const serviceName = `nothing stored ${randomToken(6)}`;
    await agents.pair.admin.call('POST', '/api/tokens', {
      serviceName,
      tokenType: 'PlainText',
    });
    const { env } = await agents.agent(serviceName);
    const wrong = `svagent_${'A'.repeat(43)}`;
    const outcomes = await drive(env, [
      { call: 'get', service: 'github' },
      { call: 'get', service: 'a/b' },
      { call: 'get', service: serviceName },
      { call: 'grants', options: { key: wrong } },
    ]);
    expect(outcomes.map(({ error }) => [error?.name, error?.status, error?.code])).toEqual([
      ['ApiError', 404, 'NO_GRANT'],
      ['ApiError', 400, 'INVALID_SERVICE'],
      ['ApiError', 404, 'NOT_FOUND'],
      ['ApiError', 403, 'INVALID_KEY'],
    ]);
    const ids = outcomes.map(({ error }) => error?.requestId);
    expect(ids).toEqual(Array(4).fill(expect.stringMatching(/^req_[\w-]{22}$/)));
    expect(new Set(ids).size).toBe(4);
    expect(outcomes.map(({ error }) => error?.message).join()).not.toContain(wrong);
    expect(outcomes[0]?.error?.message).toMatch(
      /^127\.0\.0\.1:\d+: This agent has no active grant.*NO_GRANT/,
    );
  });

  test.skipIf(missing)('names the policy of a rate_limit rule, and the seconds to wait', async () => {
    const { id: targetId, env } = await agents.agent('github');
    const { pair } = agents;
    const name = `once ${randomToken(6)}`;
    const rules = [{ type: 'rate_limit', limit: 1, windowSeconds: 600 }];
    const policy = await pair.admin.call<{ id: string }>('POST', '/api/policies', {
      name,
      rules,
    });
    await pair.admin.call('POST', `/api/policies/${policy.id}/attachments`, {
      targetType: 'agent',
      targetId,
    });
    const get = { call: 'get', service: 'github' } as const;
    const [first, second] = await drive(env, [get, get]);
    expect(first?.result.accessToken).toBe(SECRET);
    expect(second).toMatchObject({
      error: {
        name: 'RateLimited',
        message: expect.stringContaining('(POLICY_DENIED, retry after 600 s, request req_'),
        status: 429,
        code: 'POLICY_DENIED',
        policy: name,
        rule: 'rate_limit',
        retryAfter: 600,
        isRetryable: true,
      },
      pauses: [],
    });
  });

  test.skipIf(missing)('lists what the agent is granted', async () => {
    const { env } = await agents.agent('github', 'largest');
    const { result } = await only(env, { call: 'grants' });
    expect(result.map(({ serviceName }: { serviceName: string }) => serviceName).toSorted()).toEqual([
      'github',
      'largest',
    ]);
  });

  test.skipIf(missing)('names the MCP endpoint of the agent, with what it takes to call it', async () => {
    const { id, env } = await agents.agent('github');
    await agents.pair.admin.call('PATCH', `/api/agents/${id}`, { mcpEnabled: true });
    const { result, shown } = await only(env, { call: 'mcp' });
    expect([shown.includes(result.url), tracesOf(env.SVAULT_KEY, Buffer.from(shown))]).toEqual([true, []]);
    const answer = await fetch(result.url, listTools(result.headers));
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('get_credential')]);
  });

  test.skipIf(missing)('names the endpoint of an MCP proxy, with what it takes to call it', async () => {
    const upstream = await startUpstream();
    const service = `upstream ${randomToken(8)}`;
    await agents.store(service, SECRET, { allowedHosts: [upstream.url] });
    const { key } = await agents.pair.admin.call<{ key: string }>('POST', '/api/proxies', {
      name: service,
      upstreamUrl: upstream.url,
      upstreamAuthType: 'Token',
      serviceName: service,
    });
    const { SVAULT_BASE_URL } = (await agents.agent()).env;
    const { result, shown } = await only({ SVAULT_BASE_URL }, { call: 'mcp_proxy', key });
    expect(tracesOf(key, Buffer.from(shown))).toEqual([]);
    const answer = await fetch(result.url, listTools(result.headers));
    await upstream.close();
    expect(answer.status).toBe(200);
    expect(upstream.headers.map(({ authorization }) => authorization)).toEqual([`Bearer ${SECRET}`]);
  });
});

const listTools = (headers: Record<string, string>): RequestInit => ({
  method: 'POST',
  headers: {
    ...headers,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': '2025-06-18',
  },
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
});

/** An MCP server that remembers the headers of its calls. */
async function startUpstream() {
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((req, res) => {
    headers.push(req.headers);
    req.resume();
    res
      .writeHead(200, { 'content-type': 'application/json' })
      .end('{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
