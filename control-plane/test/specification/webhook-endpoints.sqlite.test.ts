import { parseRegistrationLink } from '@svault/compose/binding';
import { registrationLinkByPage } from '@svault/test-kit/bind-by-page';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { expect } from 'vitest';
import { startLinkedService } from '../support/linked-service.ts';
import { type Answer, clientOf } from '../support/management-service.ts';
import { take } from '../support/pair-agents.ts';
import { PAIR_BASE_URL } from '../support/pair-sessions.ts';
import { refreshableRecord } from '../support/refreshable-record.ts';
import { startFixture } from './fixture.ts';
import { type ProxyFixture, SECRET, shown, sentTo, proxyTest as test } from './proxy-fixture.ts';
import { spec } from '@svault/test-kit/spec';

/** What the webhook says to somebody who has no key. */
const unsigned = async ({ pair }: ProxyFixture, path: string): Promise<unknown> => {
  const { status, json } = await clientOf(pair.bypassingRecorder(pair.webhookUrl))('POST', path, {
    body: {},
  });
  return [status, json.code];
};
const UNSIGNED = [401, 'SIGNATURE_INVALID'];

/** A provider's client, and a pair of tokens at the webhook that are refreshed the one way or the other. */
async function refreshable(fixture: ProxyFixture, name: string, how: object): Promise<readonly string[]> {
  const { provider } = fixture;
  const clientSecret = `secret of the client of ${name}`;
  const client = { tokenUrl: provider.url, clientId: name };
  provider.register({ id: name, method: 'client_secret_post', secret: clientSecret });
  const tokens = provider.grant(name);
  const authMethod = 'client_secret_post';
  await fixture.store(name, { tokenType: 'JWT', ...tokens, provider: { ...client, authMethod, ...how } });
  const body = { name, ...client, authMethod, clientSecret };
  if ('mediated' in how) expect((await fixture.admin('POST', '/api/providers', { body })).status).toBe(201);
  return [tokens.accessToken, tokens.refreshToken];
}

test(
  'POST /v1/exchange takes a code once and establishes the secret',
  spec('POST /v1/exchange | service, signed | One-time code exchange that establishes the HMAC secret.'),
  async () => {
    const fixture = await startFixture({ bound: false });
    try {
      const { pair, admin } = fixture;
      const link = await registrationLinkByPage(pair.bypassingRecorder(pair.webhookUrl), pair.setupToken);
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
      await fixture.close();
    }
  },
);

test(
  'GET /v1/health is open, and POST /v1/health takes a signature',
  spec('GET or POST /v1/health | service | GET is unauthenticated. POST is HMAC-signed.'),
  async ({ fixture }) => {
    const { pair, admin } = fixture;
    const anyone = clientOf(pair.bypassingRecorder(pair.webhookUrl));
    const { status, json } = await anyone('GET', '/v1/health');
    expect([status, json]).toEqual([200, { status: 'ok' }]);
    expect(await unsigned(fixture, '/v1/health')).toEqual(UNSIGNED);
    fixture.passed();
    expect((await admin('GET', '/api/webhook')).json.reachable).toBe(true);
    expect(sentTo(fixture, '/v1/health')).toHaveLength(1);
  },
);

test(
  'POST /v1/storage carries listings, proxy configs and audit events, and no credential',
  spec(
    'POST /v1/storage | service, signed | Metadata operations: token listings, proxy configs, audit events, batch listing.',
  ),
  async ({ fixture }) => {
    fixture.passed();
    const { json } = await fixture.admin('GET', '/api/tokens/github');
    expect(json.webhook).toMatchObject({ serviceName: 'github', tokenType: 'PlainText', version: 1 });
    await fixture.admin('GET', '/api/tokens');
    await fixture.proxyTo();
    await fixture.shipped();
    const sent = sentTo(fixture, '/v1/storage').join('\n');
    for (const part of ['"batch":[{"op":"tokens.get"', '"op":"proxies.put"', '"op":"audit.append"'])
      expect(sent).toContain(part);
    // Looked through for what expires, every minute.
    fixture.wait(60_000);
    await fixture.runJob('token refresh');
    expect(sentTo(fixture, '/v1/storage').join('\n')).toContain('"op":"tokens.list"');
    // Metadata alone: a page of tokens says nothing of what is in them.
    expect(tracesOf(SECRET, fixture.pair.recorded())).toEqual([]);
    expect(await unsigned(fixture, '/v1/storage')).toEqual(UNSIGNED);
  },
);

test(
  'POST /v1/proxy injects the credential into the upstream request',
  spec('POST /v1/proxy | service, signed | Decrypt the credential, inject it into the upstream request.'),
  async ({ fixture }) => {
    const proxy = await fixture.proxyTo();
    fixture.passed();
    expect((await proxy.send('tools/call')).status).toBe(200);
    expect(sentTo(fixture, '/v1/proxy')).toHaveLength(1);
    expect(shown(fixture)).toEqual([`Bearer ${SECRET}`]);
    expect(await unsigned(fixture, '/v1/proxy')).toEqual(UNSIGNED);
    expect(shown(fixture)).toHaveLength(1);
  },
);

test(
  'POST /v1/refresh-notify carries provider hints and no secret',
  spec(
    'POST /v1/refresh-notify | service, signed | Tells the webhook that a token needs refresh (notify-only refresh). The service sends provider hints (token URL, client id) and never the credential or client secret.',
  ),
  async ({ fixture }) => {
    const { provider, admin } = fixture;
    const clientSecret = 'secret of the client of notified';
    const secrets = [...(await refreshable(fixture, 'notified', { clientSecret })), clientSecret];
    const before = provider.calls.length;
    fixture.passed();
    expect((await admin('POST', '/api/tokens/notified/refresh')).status).toBe(200);
    const [said] = sentTo(fixture, '/v1/refresh-notify');
    expect(JSON.parse(said ?? '')).toEqual({
      serviceName: 'notified',
      reason: 'manual',
      tokenUrl: provider.url,
      clientId: 'notified',
    });
    expect(provider.calls.slice(before).map(({ outcome }) => outcome)).toEqual(['refreshed']);
    for (const secret of secrets) expect(tracesOf(secret, fixture.pair.recorded())).toEqual([]);
    expect(await unsigned(fixture, '/v1/refresh-notify')).toEqual(UNSIGNED);
  },
);

test(
  'POST /v1/refresh is a get and an update, for webhooks that report the capability',
  spec(
    'POST /v1/refresh | service, signed | TV-mediated two-phase get/update refresh. Enabled only when the webhook reports the sv-refresh capability.',
  ),
  async ({ fixture }) => {
    const { provider, admin } = fixture;
    const tokens = await refreshable(fixture, 'mediated', { mediated: true });
    const before = provider.calls.length;
    fixture.passed();
    expect((await admin('POST', '/api/tokens/mediated/refresh')).status).toBe(200);
    const said = sentTo(fixture, '/v1/refresh').map((body) => JSON.parse(body) as object);
    expect(said).toMatchObject([
      { phase: 'get', serviceName: 'mediated' },
      { phase: 'update', leaseId: expect.any(String) },
    ]);
    expect(provider.calls.slice(before).map(({ outcome }) => outcome)).toEqual(['refreshed']);
    for (const token of tokens) expect(tracesOf(token, fixture.pair.recorded())).toEqual([]);
    expect(await unsigned(fixture, '/v1/refresh')).toEqual(UNSIGNED);
    await expectOnlyWithCapability();
  },
);

test(
  'GET /v1/credential delivers for a ticket once, and never for a forged one',
  spec('GET /v1/credential | agent, via 307 | Returns the credential after verifying the ticket signature.'),
  async ({ fixture }) => {
    const agent = await fixture.agent('github');
    const { status, headers } = await agent.ask('github');
    const location = headers.get('location') ?? '';
    expect([status, location]).toEqual([307, expect.stringContaining('/v1/credential?ticket=')]);
    const forged = location.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'));
    for (const [url, said] of [
      [forged, 'TICKET_INVALID'],
      [location, undefined],
      [location, 'TICKET_INVALID'],
    ] as const) {
      const { json } = await take(fixture.pair, url);
      expect([json.code, json.token?.accessToken]).toEqual([said, said === undefined ? SECRET : undefined]);
    }
  },
);

test(
  'POST /v1/store takes a credential from a browser with a ticket, past the control plane',
  spec('POST /v1/store | browser | Direct credential storage with a signed ticket issued by the service.'),
  async ({ fixture }) => {
    const body = { serviceName: 'by-browser', tokenType: 'PlainText' };
    const { store } = (await fixture.admin('POST', '/api/tokens', { body })).json;
    const page = clientOf(fixture.pair.bypassingRecorder(store.url), {
      origin: PAIR_BASE_URL,
      authorization: `Bearer ${store.ticket}`,
    });
    fixture.passed();
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
    expect(fixture.passed()).not.toContain('/v1/store');
    expect((await (await fixture.agent('by-browser')).fetch('by-browser')).json.token.accessToken).toBe(
      SECRET,
    );
  },
);

test(
  'GET /bind makes one-time registration links until the webhook is bound',
  spec("GET /bind | browser | The webhook's page that produces the one-time registration link."),
  async () => {
    const fixture = await startFixture({ bound: false });
    try {
      const { pair } = fixture;
      const url = pair.bypassingRecorder(pair.webhookUrl);
      const page = await clientOf(url)('GET', '/bind');
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      const [first, second] = [
        await registrationLinkByPage(url, pair.setupToken),
        await registrationLinkByPage(url, pair.setupToken),
      ];
      expect(first).toContain(`${PAIR_BASE_URL}/vault/webhook-bind?code=`);
      expect(new URL(first).searchParams.get('code')).not.toBe(new URL(second).searchParams.get('code'));
      const bind = (link: string): Promise<Answer> =>
        fixture.admin('POST', '/api/webhook/bind', { body: parseRegistrationLink(link) });
      expect((await bind(first)).status).toBeGreaterThanOrEqual(400);
      expect((await bind(second)).status).toBeLessThan(300);
      const sealed = await clientOf(url)('GET', '/bind');
      expect(sealed.status).toBe(403);
    } finally {
      await fixture.close();
    }
  },
);

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
