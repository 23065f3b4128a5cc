import { formatTime, newKey } from '@svault/shared';
import { expect } from 'vitest';
import { clientOf } from '../management-service.ts';
import { MCP, inEra } from '../mcp-steps.ts';
import { PROXY, message } from '../proxy-steps.ts';
import { CREDENTIALS, stepsOn } from '../service-steps.ts';
import { toolsCall } from './eras.ts';
import type { EVENT_ROWS, VERSION_ROWS } from './event-rows.ts';
import { expectResult } from './mcp-answers.ts';
import { sceneOn } from './mcp-scene.ts';
import { type ProxyPlay, type ProxyScene, expectRpcDenial } from './proxy-scene.ts';
import type { Row } from './row.ts';
import { sentTo } from './webhook-plays.ts';

const MINUTE_MS = 60_000;
const ERA = '2025-11-25';

const mcpOn = (scene: ProxyScene) => sceneOn({ ...scene, spend: () => Promise.resolve() }, ERA);

const logged = async ({ pair, admin }: ProxyScene): Promise<readonly string[]> =>
  (await stepsOn(pair.controlPlaneUrl(), admin).log()).map(({ eventType }) => eventType);

/** A token that ends in so many minutes, which a provider refreshes for many hours. */
async function expiring(scene: ProxyScene, name: string, minutes: number, how: object = {}): Promise<void> {
  const { provider, pair } = scene;
  provider.expiresIn = 360_000;
  const client = { tokenUrl: provider.url, clientId: 'a client' };
  const expiryTime = formatTime(pair.clock.now() + minutes * MINUTE_MS);
  const tokens = provider.grant('a client');
  await scene.store(name, { tokenType: 'JWT', ...tokens, expiryTime, provider: { ...client, ...how } });
}

const versionOf = async ({ admin }: ProxyScene, name: string): Promise<unknown> =>
  (await admin('GET', `/api/tokens/${name}`)).json.webhook?.version;

/** Lets five of the service's minutes pass, within which it refreshes by itself. */
async function refreshed(scene: ProxyScene, name: string): Promise<void> {
  let minutes = 0;
  const look = async (): Promise<unknown> => {
    if (minutes++ < 5) {
      scene.wait(MINUTE_MS);
      await scene.runJob('token refresh');
    }
    return [name, await versionOf(scene, name)];
  };
  await expect.poll(look, { timeout: 10_000 }).toEqual([name, 2]);
}

/** "Events". */
export const EVENT_PLAYS = {
  'activity log': async (scene) => {
    const agent = await mcpOn(scene).agent('github');
    expect((await agent.fetch('github')).status).toBe(200);
    const timestamp = formatTime(scene.pair.clock.now());
    const { structured } = expectResult(await agent.mcp.call('credential_history', { service: 'github' }));
    const access = { eventType: 'AGENT_CREDENTIAL_ACCESS', timestamp, outcome: 'success' };
    expect(structured.history).toContainEqual(access);
  },

  audited: async (scene) => {
    const agent = await scene.agent('github');
    await scene.admin('DELETE', `/api/agents/${agent.id}/grants/github`);
    const proxy = await scene.proxyTo();
    await scene.admin('POST', `/api/proxies/${proxy.id}/revoke`);
    await scene.admin('POST', '/api/webhook/rotate-secret');
    const types = await logged(scene);
    for (const type of [
      'GRANT_CREATED',
      'GRANT_REVOKED',
      'KEY_REVOKED',
      'WEBHOOK_BOUND',
      'WEBHOOK_SECRET_ROTATED',
    ])
      expect(types).toContain(type);
  },

  'written to the webhook': async (scene) => {
    await scene.shipped();
    scene.passed();
    const agent = await scene.agent('github');
    await agent.ask('github');
    const { admin, pair } = scene;
    const { log } = stepsOn(pair.controlPlaneUrl(), admin);
    const events = await log(`&agentId=${agent.id}`);
    expect(events.map(({ eventType }) => eventType)).toEqual([
      'AGENT_CREDENTIAL_ACCESS',
      'GRANT_CREATED',
      'AGENT_CREATED',
    ]);
    await scene.shipped();
    const sent = sentTo(scene, '/v1/storage').filter((body) => body.includes('audit.append'));
    for (const { id } of events) expect(sent.filter((body) => body.includes(id))).toHaveLength(1);
  },

  'expiring: notified': async (scene) => {
    scene.provider.register({ id: 'a client', method: 'none' });
    await expiring(scene, 'noticed', 45);
    scene.passed();
    await refreshed(scene, 'noticed');
    const [said] = sentTo(scene, '/v1/refresh-notify');
    expect(JSON.parse(said ?? '')).toMatchObject({ serviceName: 'noticed', reason: 'expiring' });
  },

  'expiring: mediated': async (scene) => {
    const { provider, admin } = scene;
    const clientSecret = 'of the client';
    provider.register({ id: 'a client', method: 'client_secret_basic', secret: clientSecret });
    const client = { tokenUrl: provider.url, clientId: 'a client', clientSecret };
    const body = { name: 'p', ...client, authMethod: 'client_secret_basic' };
    expect((await admin('POST', '/api/providers', { body })).status).toBe(201);
    await expiring(scene, 'within', 61, { mediated: true });
    await expiring(scene, 'later', 180, { mediated: true });
    await refreshed(scene, 'within');
    expect(await versionOf(scene, 'later')).toBe(1);
    scene.wait(120 * MINUTE_MS);
    await refreshed(scene, 'later');
  },

  notifications: async (scene) => {
    const { mcp } = await mcpOn(scene).agent('github');
    const proxy = await scene.proxyTo();
    scene.upstream.answer = (_call, res) => res.writeHead(202).end();
    for (const method of ['notifications/initialized', 'notifications/cancelled', 'notifications/anything']) {
      const accepted = await mcp.send({ method, params: { requestId: 1 }, id: null });
      expect([accepted.status, accepted.text]).toEqual([202, '']);
      const forwarded = await proxy.call('POST', { body: message(method) });
      expect([forwarded.status, forwarded.text]).toEqual([202, '']);
    }
  },
} as const satisfies Record<keyof typeof EVENT_ROWS, ProxyPlay<Row>>;

/** "Versioning". */
export const VERSION_PLAYS = {
  'webhook paths': async (scene) => {
    await (await scene.proxyTo()).send('tools/call');
    await scene.admin('GET', '/api/tokens/github');
    await scene.shipped();
    const passed = scene.pair.recorded().toString('latin1');
    const paths = [...passed.matchAll(/(?:GET|POST|PUT|DELETE) (\/\S*) HTTP\/1\.1\r\n/g)].map(
      ([, path]) => path,
    );
    expect(paths.filter((path) => path?.startsWith('/v1/') !== true)).toEqual([]);
    for (const path of ['exchange', 'health', 'storage', 'proxy']) expect(paths).toContain(`/v1/${path}`);
  },

  messages: async (scene) => {
    const { apiKey, id } = await scene.agent('github');
    await scene.admin('PATCH', `/api/agents/${id}`, { body: { mcpEnabled: true } });
    const call = clientOf(scene.pair.controlPlaneUrl(), {
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

  'key in a query': async (scene) => {
    const [agent, proxy] = [await scene.agent('github'), await scene.proxyTo()];
    await scene.admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
    for (const [method, path, key] of [
      ['GET', CREDENTIALS, agent.apiKey],
      ['POST', MCP, agent.apiKey],
      ['POST', PROXY, proxy.key],
      ['GET', PROXY, proxy.key],
    ] as const) {
      const { status, json } = await scene.anyone(method, `${path}?key=${key}&service=github`);
      expect([path, status]).toEqual([path, 401]);
      if (path !== MCP) expect(json.code).toBe('MISSING_KEY');
      // Beside a key in a header it counts for nothing.
      const headers = { authorization: `Bearer ${newKey('mcp')}` };
      expect((await scene.anyone(method, `${path}?key=${key}`, { headers })).status).toBeGreaterThanOrEqual(
        401,
      );
    }
    expect(scene.upstream.seen).toEqual([]);
  },

  '-32029': async (scene) => {
    const proxy = await scene.proxyTo();
    const rule = { type: 'rate_limit', limit: 1, windowSeconds: 5 };
    await scene.policy(rule, { targetType: 'proxy', targetId: proxy.id });
    await proxy.send('tools/call');
    const refused = await proxy.send('tools/call');
    expectRpcDenial(refused, { code: 'POLICY_DENIED', retryAfter: 5 });
    // JSON-RPC 2.0, section 5.1: the band for errors that a server defines.
    const { code } = refused.json.error;
    expect([code >= -32_099, code <= -32_000]).toEqual([true, true]);
  },
} as const satisfies Record<keyof typeof VERSION_ROWS, ProxyPlay<Row>>;
