import { formatTime, newKey } from '@svault/shared';
import { expect } from 'vitest';
import { clientOf } from '../support/management-service.ts';
import { MCP, inEra } from '../support/mcp-steps.ts';
import { PROXY, message } from '../support/proxy-steps.ts';
import { CREDENTIALS, stepsOn } from '../support/service-steps.ts';
import { toolsCall } from './eras.ts';
import { expectResult } from './mcp-answers.ts';
import { mcpFixture } from './mcp-fixture.ts';
import { type ProxyFixture, expectRpcDenial, sentTo, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';

const MINUTE_MS = 60_000;
const ERA = '2025-11-25';

const mcpOn = (fixture: ProxyFixture) => mcpFixture({ ...fixture, spend: () => Promise.resolve() }, ERA);

const logged = async ({ pair, admin }: ProxyFixture): Promise<readonly string[]> =>
  (await stepsOn(pair.controlPlaneUrl(), admin).log()).map(({ eventType }) => eventType);

/** A token that ends in so many minutes, which a provider refreshes for many hours. */
async function expiring(
  fixture: ProxyFixture,
  name: string,
  minutes: number,
  how: object = {},
): Promise<void> {
  const { provider, pair } = fixture;
  provider.expiresIn = 360_000;
  const client = { tokenUrl: provider.url, clientId: 'a client' };
  const expiryTime = formatTime(pair.clock.now() + minutes * MINUTE_MS);
  const tokens = provider.grant('a client');
  await fixture.store(name, { tokenType: 'JWT', ...tokens, expiryTime, provider: { ...client, ...how } });
}

const versionOf = async ({ admin }: ProxyFixture, name: string): Promise<unknown> =>
  (await admin('GET', `/api/tokens/${name}`)).json.webhook?.version;

/** Lets five of the service's minutes pass, within which it refreshes by itself. */
async function refreshed(fixture: ProxyFixture, name: string): Promise<void> {
  let minutes = 0;
  const look = async (): Promise<unknown> => {
    if (minutes++ < 5) {
      fixture.wait(MINUTE_MS);
      await fixture.runJob('token refresh');
    }
    return [name, await versionOf(fixture, name)];
  };
  await expect.poll(look).toEqual([name, 2]);
}

test(
  'a credential access is in the log that credential_history reads',
  spec(
    'The activity (audit) log records agent credential accesses and is readable through credential_history. One event type is shown: AGENT_CREDENTIAL_ACCESS. One outcome value is shown: success.',
  ),
  async ({ fixture }) => {
    const agent = await mcpOn(fixture).agent('github');
    expect((await agent.fetch('github')).status).toBe(200);
    const timestamp = formatTime(fixture.pair.clock.now());
    const { structured } = expectResult(await agent.mcp.call('credential_history', { service: 'github' }));
    const access = { eventType: 'AGENT_CREDENTIAL_ACCESS', timestamp, outcome: 'success' };
    expect(structured.history).toContainEqual(access);
  },
);

test(
  'grants, webhook events and revocations are audited',
  spec('Grant creation, webhook events and revocations are audited.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    await fixture.admin('DELETE', `/api/agents/${agent.id}/grants/github`);
    const proxy = await fixture.proxyTo();
    await fixture.admin('POST', `/api/proxies/${proxy.id}/revoke`);
    await fixture.admin('POST', '/api/webhook/rotate-secret');
    const types = await logged(fixture);
    for (const type of [
      'GRANT_CREATED',
      'GRANT_REVOKED',
      'KEY_REVOKED',
      'WEBHOOK_BOUND',
      'WEBHOOK_SECRET_ROTATED',
    ])
      expect(types).toContain(type);
  },
);

test(
  'each audit event is written once to /v1/storage of the webhook',
  spec("The service writes audit events through the webhook's /v1/storage."),
  async ({ fixture }) => {
    await fixture.shipped();
    fixture.passed();
    const agent = await fixture.agent('github');
    await agent.ask('github');
    const { admin, pair } = fixture;
    const { log } = stepsOn(pair.controlPlaneUrl(), admin);
    const events = await log(`&agentId=${agent.id}`);
    expect(events.map(({ eventType }) => eventType)).toEqual([
      'AGENT_CREDENTIAL_ACCESS',
      'GRANT_CREATED',
      'AGENT_CREATED',
    ]);
    await fixture.shipped();
    const sent = sentTo(fixture, '/v1/storage').filter((body) => body.includes('audit.append'));
    for (const { id } of events) expect(sent.filter((body) => body.includes(id))).toHaveLength(1);
  },
);

test(
  'the webhook is notified of a token that expires',
  spec('The service notifies the webhook of expiring OAuth tokens through POST /v1/refresh-notify.'),
  async ({ fixture }) => {
    fixture.provider.register({ id: 'a client', method: 'none' });
    await expiring(fixture, 'noticed', 45);
    fixture.passed();
    await refreshed(fixture, 'noticed');
    const [said] = sentTo(fixture, '/v1/refresh-notify');
    expect(JSON.parse(said ?? '')).toMatchObject({ serviceName: 'noticed', reason: 'expiring' });
  },
);

test(
  'a mediated token that expires within an hour is refreshed',
  spec('In TV-mediated mode, tokens expiring within 1 hour are refreshed automatically.'),
  async ({ fixture }) => {
    const { provider, admin } = fixture;
    const clientSecret = 'of the client';
    provider.register({ id: 'a client', method: 'client_secret_basic', secret: clientSecret });
    const client = { tokenUrl: provider.url, clientId: 'a client', clientSecret };
    const body = { name: 'p', ...client, authMethod: 'client_secret_basic' };
    expect((await admin('POST', '/api/providers', { body })).status).toBe(201);
    await expiring(fixture, 'within', 61, { mediated: true });
    await expiring(fixture, 'later', 180, { mediated: true });
    await refreshed(fixture, 'within');
    expect(await versionOf(fixture, 'later')).toBe(1);
    fixture.wait(120 * MINUTE_MS);
    await refreshed(fixture, 'later');
  },
);

test(
  'MCP notifications are accepted with 202',
  spec('MCP notifications/* messages are accepted as protocol bookkeeping (see Limits).'),
  async ({ fixture }) => {
    const { mcp } = await mcpOn(fixture).agent('github');
    const proxy = await fixture.proxyTo();
    fixture.upstream.answer = (_call, res) => res.writeHead(202).end();
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/anything']) {
      const accepted = await mcp.send({ method, params: { requestId: 1 }, id: null });
      expect([accepted.status, accepted.text]).toEqual([202, '']);
      const forwarded = await proxy.call('POST', { body: message(method) });
      expect([forwarded.status, forwarded.text]).toEqual([202, '']);
    }
  },
);

test(
  'every path that is called at the webhook begins with /v1/',
  spec('Service-to-webhook paths are prefixed /v1.'),
  async ({ fixture }) => {
    await (await fixture.proxyTo()).send('tools/call');
    await fixture.admin('GET', '/api/tokens/github');
    await fixture.shipped();
    const passed = fixture.pair.recorded().toString('latin1');
    const paths = [...passed.matchAll(/(?:GET|POST|PUT|DELETE) (\/\S*) HTTP\/1\.1\r\n/g)].map(
      ([, path]) => path,
    );
    expect(paths.filter((path) => path?.startsWith('/v1/') !== true)).toEqual([]);
    for (const path of ['exchange', 'health', 'storage', 'proxy']) expect(paths).toContain(`/v1/${path}`);
  },
);

test(
  'MCP messages are JSON-RPC 2.0, and other versions are -32600',
  spec('MCP messages use JSON-RPC 2.0 over Streamable HTTP.'),
  async ({ fixture }) => {
    const { apiKey, id } = await fixture.agent('github');
    await fixture.admin('PATCH', `/api/agents/${id}`, { body: { mcpEnabled: true } });
    const call = clientOf(fixture.pair.controlPlaneUrl(), {
      authorization: `Bearer ${apiKey}`,
      accept: 'application/json, text/event-stream',
    });
    const { headers, body } = inEra(ERA, 'tools/call', toolsCall('whoami', {}).params, 'an id');
    const { status, json } = await call('POST', MCP, { headers, body });
    expect([status, json.jsonrpc, json.id, 'result' in json]).toEqual([200, '2.0', 'an id', true]);
    for (const jsonrpc of ['1.0', 2, undefined]) {
      const answer = await call('POST', MCP, { headers, body: { ...body, jsonrpc } });
      expect([answer.status, answer.json.jsonrpc, answer.json.error.code]).toEqual([400, '2.0', -32_600]);
    }
  },
);

test(
  'a key in the query string is not accepted',
  spec('The API key in a query string was formerly accepted and is no longer accepted.'),
  async ({ fixture }) => {
    const [agent, proxy] = [await fixture.agent('github'), await fixture.proxyTo()];
    await fixture.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    for (const [method, path, key] of [
      ['GET', CREDENTIALS, agent.apiKey],
      ['POST', MCP, agent.apiKey],
      ['POST', PROXY, proxy.key],
      ['GET', PROXY, proxy.key],
    ] as const) {
      const { status, json } = await fixture.anyone(method, `${path}?key=${key}&service=github`);
      expect([path, status]).toEqual([path, 401]);
      if (path !== MCP) expect(json.code).toBe('MISSING_KEY');
      // Beside a key in a header it counts for nothing.
      const headers = { authorization: `Bearer ${newKey('mcp')}` };
      expect((await fixture.anyone(method, `${path}?key=${key}`, { headers })).status).toBeGreaterThanOrEqual(
        401,
      );
    }
    expect(fixture.upstream.seen).toEqual([]);
  },
);

test(
  'a rate denial has a code of the JSON-RPC band for server errors',
  spec('The -32029 code lies in the JSON-RPC server-error band and is specific to the service.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 5 };
    await fixture.policy(rule, { targetType: 'proxy', targetId: proxy.id });
    await proxy.send('tools/call');
    const refused = await proxy.send('tools/call');
    expectRpcDenial(refused, { code: 'POLICY_DENIED', retryAfter: 5 });
    // JSON-RPC 2.0, section 5.1: the band for errors that a server defines.
    const { code } = refused.json.error;
    expect([code >= -32_099, code <= -32_000]).toEqual([true, true]);
  },
);
