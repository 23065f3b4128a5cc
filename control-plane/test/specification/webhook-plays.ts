import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { parseRegistrationLink } from '@svault/compose/binding';
import { expect } from 'vitest';
import { startLinkedService } from '../linked-service.ts';
import { type Answer, clientOf } from '../management-service.ts';
import { take } from '../pair-agents.ts';
import { PAIR_BASE_URL } from '../pair-sessions.ts';
import { refreshableRecord } from '../refreshable-record.ts';
import type { WEBHOOK_ROWS } from './webhook-rows.ts';
import { type ProxyPlay, type ProxyScene, SECRET, shown } from './proxy-scene.ts';
import type { Row } from './row.ts';
import { raiseCurtain } from './stage.ts';

/** Bodies of what the service sent to one path of the webhook since it was asked the last time, each signed. */
export function sentTo({ passed }: Pick<ProxyScene, 'passed'>, path: string): readonly string[] {
  return passed()
    .split(/(?=(?:GET|POST) \/v1\/)/)
    .filter((text) => text.startsWith(`POST ${path} HTTP/1.1\r\n`))
    .map((text) => {
      expect(text).toMatch(/^signature: sv=:[\w+/]{43}=:\r$/im);
      const [, body = ''] = text.split('\r\n\r\n');
      return body.split('HTTP/1.1 ')[0] ?? '';
    });
}

/** What the webhook says to somebody who has no key. */
const unsigned = async ({ pair }: ProxyScene, path: string): Promise<unknown> => {
  const { status, json } = await clientOf(pair.aroundTheTap(pair.webhookUrl))('POST', path, { body: {} });
  return [status, json.code];
};
const UNSIGNED = [401, 'SIGNATURE_INVALID'];

/** A provider's client, and a pair of tokens at the webhook that are refreshed the one way or the other. */
async function refreshable(scene: ProxyScene, name: string, how: object): Promise<readonly string[]> {
  const { provider } = scene;
  const clientSecret = `secret of the client of ${name}`;
  const client = { tokenUrl: provider.url, clientId: name };
  provider.register({ id: name, method: 'client_secret_post', secret: clientSecret });
  const tokens = provider.grant(name);
  const authMethod = 'client_secret_post';
  await scene.store(name, { tokenType: 'JWT', ...tokens, provider: { ...client, authMethod, ...how } });
  const body = { name, ...client, authMethod, clientSecret };
  if ('mediated' in how) expect((await scene.admin('POST', '/api/providers', { body })).status).toBe(201);
  return [tokens.accessToken, tokens.refreshToken];
}

/** "Webhook endpoints": what the service sends there is what passed over the wiretap between the two. */
export const WEBHOOK_PLAYS = {
  exchange: async () => {
    const stage = await raiseCurtain({ bound: false });
    try {
      const { pair, admin } = stage;
      const link = await registrationLinkByPage(pair.aroundTheTap(pair.webhookUrl), pair.setupToken);
      const bind = (): Promise<Answer> =>
        admin('POST', '/api/webhook/bind', { body: parseRegistrationLink(link) });
      expect((await bind()).status).toBeLessThan(300);
      const sent = pair.recorded().toString('latin1');
      expect(sent).toMatch(/^POST \/v1\/exchange HTTP\/1\.1\r$/m);
      expect(sent).toMatch(/^signature-input: sv=.*;keyid="bind";/im);
      expect((await admin('GET', '/api/webhook')).json.reachable).toBe(true);
      // The code was for once: after an unbinding it opens nothing.
      expect((await admin('DELETE', '/api/webhook')).status).toBeLessThan(300);
      expect((await bind()).status).toBeGreaterThanOrEqual(400);
      expect((await admin('GET', '/api/webhook')).json.reachable).not.toBe(true);
    } finally {
      await stage.close();
    }
  },

  health: async (scene) => {
    const { pair, admin } = scene;
    const anyone = clientOf(pair.aroundTheTap(pair.webhookUrl));
    const { status, json } = await anyone('GET', '/v1/health');
    expect([status, json]).toEqual([200, { status: 'ok' }]);
    expect(await unsigned(scene, '/v1/health')).toEqual(UNSIGNED);
    scene.passed();
    expect((await admin('GET', '/api/webhook')).json.reachable).toBe(true);
    expect(sentTo(scene, '/v1/health')).toHaveLength(1);
  },

  storage: async (scene) => {
    scene.passed();
    const { json } = await scene.admin('GET', '/api/tokens/github');
    expect(json.webhook).toMatchObject({ serviceName: 'github', tokenType: 'PlainText', version: 1 });
    await scene.admin('GET', '/api/tokens');
    await scene.proxyTo();
    await scene.shipped();
    const sent = sentTo(scene, '/v1/storage').join('\n');
    for (const part of ['"batch":[{"op":"tokens.get"', '"op":"proxies.put"', '"op":"audit.append"'])
      expect(sent).toContain(part);
    // Looked through for what expires, every minute.
    scene.wait(60_000);
    await scene.runJob('token refresh');
    expect(sentTo(scene, '/v1/storage').join('\n')).toContain('"op":"tokens.list"');
    // Metadata alone: a page of tokens says nothing of what is in them.
    expect(tracesOf(SECRET, scene.pair.recorded())).toEqual([]);
    expect(await unsigned(scene, '/v1/storage')).toEqual(UNSIGNED);
  },

  proxy: async (scene) => {
    const proxy = await scene.proxyTo();
    scene.passed();
    expect((await proxy.send('tools/call')).status).toBe(200);
    expect(sentTo(scene, '/v1/proxy')).toHaveLength(1);
    expect(shown(scene)).toEqual([`Bearer ${SECRET}`]);
    expect(await unsigned(scene, '/v1/proxy')).toEqual(UNSIGNED);
    expect(shown(scene)).toHaveLength(1);
  },

  'refresh-notify': async (scene) => {
    const { provider, admin } = scene;
    const clientSecret = 'secret of the client of notified';
    const secrets = [...(await refreshable(scene, 'notified', { clientSecret })), clientSecret];
    const before = provider.calls.length;
    scene.passed();
    expect((await admin('POST', '/api/tokens/notified/refresh')).status).toBe(200);
    const [said] = sentTo(scene, '/v1/refresh-notify');
    expect(JSON.parse(said ?? '')).toEqual({
      serviceName: 'notified',
      reason: 'manual',
      tokenUrl: provider.url,
      clientId: 'notified',
    });
    expect(provider.calls.slice(before).map(({ outcome }) => outcome)).toEqual(['refreshed']);
    for (const secret of secrets) expect(tracesOf(secret, scene.pair.recorded())).toEqual([]);
    expect(await unsigned(scene, '/v1/refresh-notify')).toEqual(UNSIGNED);
  },

  refresh: async (scene) => {
    const { provider, admin } = scene;
    const tokens = await refreshable(scene, 'mediated', { mediated: true });
    const before = provider.calls.length;
    scene.passed();
    expect((await admin('POST', '/api/tokens/mediated/refresh')).status).toBe(200);
    const said = sentTo(scene, '/v1/refresh').map((body) => JSON.parse(body) as object);
    expect(said).toMatchObject([
      { phase: 'get', serviceName: 'mediated' },
      { phase: 'update', leaseId: expect.any(String) },
    ]);
    expect(provider.calls.slice(before).map(({ outcome }) => outcome)).toEqual(['refreshed']);
    for (const token of tokens) expect(tracesOf(token, scene.pair.recorded())).toEqual([]);
    expect(await unsigned(scene, '/v1/refresh')).toEqual(UNSIGNED);
    await expectOnlyWithCapability();
  },

  credential: async (scene) => {
    const agent = await scene.agent('github');
    const { status, headers } = await agent.ask('github');
    const location = headers.get('location') ?? '';
    expect([status, location]).toEqual([307, expect.stringContaining('/v1/credential?ticket=')]);
    const forged = location.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    for (const [url, said] of [
      [forged, 'TICKET_INVALID'],
      [location, undefined],
      [location, 'TICKET_INVALID'],
    ] as const) {
      const { json } = await take(scene.pair, url);
      expect([json.code, json.token?.accessToken]).toEqual([said, said === undefined ? SECRET : undefined]);
    }
  },

  store: async (scene) => {
    const body = { serviceName: 'by-browser', tokenType: 'PlainText' };
    const { store } = (await scene.admin('POST', '/api/tokens', { body })).json;
    const page = clientOf(scene.pair.aroundTheTap(store.url), {
      origin: PAIR_BASE_URL,
      authorization: `Bearer ${store.ticket}`,
    });
    scene.passed();
    const credential = { tokenType: 'PlainText', value: SECRET };
    const wrong = { authorization: `Bearer ${store.ticket.slice(0, -4)}AAAA` };
    expect((await page('POST', '', { body: credential, headers: wrong })).json.code).toBe('TICKET_INVALID');
    const preflight = { 'access-control-request-method': 'POST' };
    expect((await page('OPTIONS', '', { headers: preflight })).status).toBe(204);
    const stored = await page('POST', '', { body: credential });
    expect([stored.status, stored.json]).toEqual([200, { serviceName: 'by-browser', version: 1 }]);
    expect(stored.headers.get('access-control-allow-origin')).toBe(PAIR_BASE_URL);
    expect((await page('POST', '', { body: credential })).json.code).toBe('TICKET_INVALID');
    // Direct: it never passed the service.
    expect(scene.passed()).not.toContain('/v1/store');
    expect((await (await scene.agent('by-browser')).fetch('by-browser')).json.token.accessToken).toBe(SECRET);
  },

  bind: async () => {
    const stage = await raiseCurtain({ bound: false });
    try {
      const { pair } = stage;
      const url = pair.aroundTheTap(pair.webhookUrl);
      const page = await clientOf(url)('GET', '/bind');
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      const [first, second] = [
        await registrationLinkByPage(url, pair.setupToken),
        await registrationLinkByPage(url, pair.setupToken),
      ];
      expect(first).toContain(`${PAIR_BASE_URL}/vault/webhook-bind?code=`);
      expect(new URL(first).searchParams.get('code')).not.toBe(new URL(second).searchParams.get('code'));
      const bind = (link: string): Promise<Answer> =>
        stage.admin('POST', '/api/webhook/bind', { body: parseRegistrationLink(link) });
      expect((await bind(first)).status).toBeGreaterThanOrEqual(400);
      expect((await bind(second)).status).toBeLessThan(300);
      const sealed = await clientOf(url)('GET', '/bind');
      expect(sealed.status).toBe(403);
    } finally {
      await stage.close();
    }
  },
} as const satisfies Record<keyof typeof WEBHOOK_ROWS, ProxyPlay<Row>>;

/** A webhook that does not claim it is never asked for a lease. */
async function expectOnlyWithCapability(): Promise<void> {
  const service = await startLinkedService();
  const { admin, webhook } = service;
  try {
    const { provider } = refreshableRecord('t');
    const record = refreshableRecord('t', { provider: { ...provider!, mediated: true } });
    webhook.tokens.set('t', record);
    await service.bind();
    await admin('POST', '/api/tokens', { body: { serviceName: 't', tokenType: 'JWT' } });
    const body = { name: 'p', ...provider, clientSecret: 's', mediated: undefined };
    expect((await admin('POST', '/api/providers', { body })).status).toBe(201);
    const asked = (): boolean => webhook.served.some(({ path }) => path === '/v1/refresh');
    await admin('POST', '/api/tokens/t/refresh');
    expect(asked()).toBe(false);
    webhook.capabilities.push('sv-refresh');
    service.clock.advance(60_000);
    await admin('GET', '/api/webhook');
    await admin('POST', '/api/tokens/t/refresh');
    expect(asked()).toBe(true);
  } finally {
    await service.stop();
  }
}
