import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unsealBinding } from '../../src/binding/unseal.ts';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import {
  type WebhookFixture,
  SERVICE_URL,
  SETUP_TOKEN,
  WEBHOOK_URL,
  credentialTicket,
  keyOf,
  makeLink,
  postForm,
  startFixture,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';

let fixture: WebhookFixture;
beforeEach(async () => {
  fixture = await startFixture();
});
afterEach(() => fixture.stop());

/** The same data opened by another process, as a subcommand does. */
async function beside<T>(use: (context: Awaited<ReturnType<typeof openContext>>) => Promise<T>): Promise<T> {
  const { clock } = fixture;
  const context = await openContext(webhookConfig(fixture.env), { clock, logger: silentLogger });
  try {
    return await use(context);
  } finally {
    context.close();
  }
}

const CODE = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('the bind page', () => {
  it('asks for the set-up token and shows nothing of the service before it', async () => {
    const { status, headers, text } = await fixture.send({ path: '/bind', headers: { accept: 'text/html' } });
    expect(status).toBe(200);
    expect(text + JSON.stringify(headers)).not.toContain('vault.example');
    expect(text).toContain('name="setup_token"');
    const wrong = await postForm(fixture.send, { setup_token: 'not it' });
    expect(wrong.status).toBe(403);
    expect(wrong.text + JSON.stringify(wrong.headers)).not.toContain('vault.example');
    expect(wrong.text).toContain('That is not the set-up token');
  });

  it('has headers that allow no script, no frame, no cache and no referrer', async () => {
    const { headers } = await fixture.send({ path: '/bind' });
    const policy = headers['content-security-policy'] as string;
    expect(policy.split(';')).toEqual([
      "default-src 'none'",
      expect.stringMatching(/^style-src 'sha256-[^']+'$/),
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]);
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['cache-control']).toBe('no-store');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['set-cookie']).toBeUndefined();
  });

  it('allows exactly the style it carries', async () => {
    const { headers, text } = await fixture.send({ path: '/bind' });
    const style = /<style>([^]*)<\/style>/.exec(text)![1]!;
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`);
  });

  // spec: GET /bind | browser | The webhook's page that produces the one-time registration link.
  it('shows address and fingerprint after the token, then goes to the service with a code', async () => {
    const page = await postForm(fixture.send, { setup_token: SETUP_TOKEN });
    expect(page.status).toBe(200);
    expect(page.text).toContain(SERVICE_URL);
    expect(page.headers['content-security-policy']).toContain("form-action 'self' https://vault.example;");
    const shown = /fingerprint">([0-9a-f ]{19})</.exec(page.text)![1]!;
    const token = /name="connect_token" value="([^"]+)"/.exec(page.text)![1]!;
    const redirect = await postForm(fixture.send, { connect_token: token });
    expect(redirect.status).toBe(303);
    const link = new URL(redirect.headers.location!);
    expect(link.origin + link.pathname).toBe(`${SERVICE_URL}/vault/webhook-bind`);
    expect(link.searchParams.get('code')).toMatch(CODE);
    expect(Buffer.from(link.searchParams.get('webhook_url')!, 'base64url').toString()).toBe(WEBHOOK_URL);
    expect(link.searchParams.get('hmac_hash')!.slice(0, 16)).toBe(shown.replaceAll(' ', ''));
    expect(page.text).not.toContain(SETUP_TOKEN);
  });

  it('lets each page connect once', async () => {
    const { text } = await postForm(fixture.send, { setup_token: SETUP_TOKEN });
    const token = /name="connect_token" value="([^"]+)"/.exec(text)![1]!;
    expect((await postForm(fixture.send, { connect_token: token })).status).toBe(303);
    const again = await postForm(fixture.send, { connect_token: token });
    expect(again.status).toBe(403);
    expect(again.headers.location).toBeUndefined();
  });

  it('answers wrong set-up tokens beyond 10 a minute with 429, and takes the right one all the same', async () => {
    const wrong = () => postForm(fixture.send, { setup_token: 'wrong' });
    for (let tries = 0; tries < 10; tries += 1) expect((await wrong()).status).toBe(403);
    const refused = await wrong();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBe(60);
    expect((await postForm(fixture.send, { setup_token: SETUP_TOKEN })).status).toBe(200);
    fixture.clock.jump(3_600_000);
    expect((await wrong()).status).toBe(429);
    fixture.clock.advance(60_000);
    expect((await wrong()).status).toBe(403);
  });

  it('reads the token from the form alone', async () => {
    const byQuery = await fixture.send({
      method: 'POST',
      path: `/bind?setup_token=${SETUP_TOKEN}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'x=1',
    });
    expect(byQuery.status).toBe(400);
    const twice = await fixture.send({
      method: 'POST',
      path: '/bind',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `setup_token=${SETUP_TOKEN}&setup_token=${SETUP_TOKEN}`,
    });
    expect(twice.json.code).toBe('INVALID_REQUEST');
    const json = { method: 'POST', path: '/bind', headers: { 'content-type': 'application/json' } };
    expect((await fixture.send({ ...json, body: JSON.stringify({ setup_token: SETUP_TOKEN }) })).status).toBe(
      400,
    );
    const large = await postForm(fixture.send, { setup_token: 'x'.repeat(5000) });
    expect(large.status).toBe(413);
  });

  it('answers other methods 405, HEAD too', async () => {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await fixture.send({ method, path: '/bind' });
      expect([status, headers.allow]).toEqual([405, 'GET, POST']);
    }
  });

  it('writes no set-up token, code or secret into the log', async () => {
    const { code } = await fixture.connect();
    const { json } = await fixture.exchange(code);
    await postForm(fixture.send, { setup_token: 'a-wrong-set-up-token' });
    for (const secret of [SETUP_TOKEN, code, json.hmacSecret, 'a-wrong-set-up-token']) {
      expect(fixture.logged()).not.toContain(secret);
    }
  });
});

describe('the set-up token', () => {
  it('is generated at the first start, printed once, and stored as a hash', async () => {
    await fixture.stop();
    fixture = await startFixture({ env: { SV_WEBHOOK_SETUP_TOKEN: '' } });
    const token = fixture.webhook.firstSetupToken!;
    expect(Buffer.from(token, 'base64url').length).toBeGreaterThanOrEqual(16);
    const [row] = fixture.query<{ hash: Buffer }>('SELECT hash FROM setup_token');
    expect(row!.hash.equals(createHash('sha256').update(token).digest())).toBe(true);
    expect(fixture.logged()).not.toContain(token);
    await fixture.restart();
    expect(fixture.webhook.firstSetupToken).toBeUndefined();
    expect((await postForm(fixture.send, { setup_token: token })).status).toBe(200);
    expect((await postForm(fixture.send, { setup_token: '' })).status).toBe(403);
  });
});

describe('a binding', () => {
  it('is complete with the first valid request, and the page is sealed', async () => {
    const { code } = await fixture.connect();
    const { json } = await fixture.exchange(code);
    expect((await fixture.send({ path: '/bind' })).status).toBe(200);
    expect((await fixture.sendSigned({ key: keyOf(json) })).status).toBe(200);
    const sealed = await fixture.send({ path: '/bind' });
    expect([sealed.status, sealed.json.code]).toEqual([403, 'SETUP_REQUIRED']);
    const page = await fixture.send({ path: '/bind', headers: { accept: 'text/html,*/*' } });
    expect(page.status).toBe(403);
    expect(page.text).toContain('SETUP_REQUIRED');
    const posted = await postForm(fixture.send, { setup_token: SETUP_TOKEN }, { accept: 'application/json' });
    expect(posted.json.code).toBe('SETUP_REQUIRED');
  });

  it('that is pending is discarded by a new code', async () => {
    const first = await fixture.exchange((await fixture.connect()).code);
    const second = await fixture.connect();
    expect((await fixture.sendSigned({ key: keyOf(first.json) })).status).toBe(401);
    const { json } = await fixture.exchange(second.code);
    expect((await fixture.sendSigned({ key: keyOf(json) })).status).toBe(200);
  });

  it('that is pending accepts no ticket', async () => {
    const { json } = await fixture.exchange((await fixture.connect()).code);
    const side = { webhookId: json.webhookId, key: keyOf(json) };
    expect((await storePlain(fixture, storeTicket(fixture, side))).json.code).toBe('TICKET_INVALID');
    expect((await fixture.sendSigned({ key: side.key })).status).toBe(200);
    expect((await storePlain(fixture, storeTicket(fixture, side))).status).toBe(200);
  });

  it('survives a restart, its keys wrapped at rest', async () => {
    const side = await fixture.bind();
    await fixture.restart();
    expect((await fixture.sendSigned({ key: side.key })).status).toBe(200);
    const [row] = fixture.query<{ secret: Buffer }>('SELECT secret FROM binding_keys');
    expect(row!.secret.includes(Buffer.from(side.key.secret))).toBe(false);
  });

  it('to another service than the configured one does not start', async () => {
    await fixture.bind();
    fixture.env['SV_WEBHOOK_SERVICE_URL'] = 'https://other.example';
    await expect(fixture.restart()).rejects.toThrow('run unseal-bind');
    fixture.env['SV_WEBHOOK_SERVICE_URL'] = SERVICE_URL;
    await fixture.restart();
  });

  it('writes itself into the log of the webhook', async () => {
    await fixture.bind();
    const events = fixture.query<{ event_type: string }>('SELECT event_type FROM audit_log ORDER BY row');
    expect(events.at(-1)!.event_type).toBe('WEBHOOK_BOUND');
  });
});

describe('unseal-bind beside a running serve', () => {
  it('erases all keys at once', async () => {
    const side = await fixture.bind();
    await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key: side.key });
    await beside((context) => unsealBinding({ ...context, ...context.config }));
    expect(fixture.query('SELECT * FROM binding_keys')).toEqual([]);
    expect((await fixture.sendSigned({ key: side.key })).status).toBe(401);
    const ticket = credentialTicket(fixture, side);
    expect((await fixture.send({ path: `/v1/credential?ticket=${ticket}` })).status).toBe(401);
    expect((await fixture.send({ path: '/bind' })).status).toBe(200);
  });

  it('voids open codes, and the webhook can be bound again', async () => {
    const { code } = await fixture.connect();
    await beside((context) => unsealBinding({ ...context, ...context.config }));
    expect((await fixture.exchange(code)).status).toBe(401);
    const side = await fixture.bind();
    expect(side.webhookId).toMatch(/^whk_/);
  });

  it('makes a new set-up token where none is configured', async () => {
    await fixture.stop();
    fixture = await startFixture({ env: { SV_WEBHOOK_SETUP_TOKEN: '' } });
    const first = fixture.webhook.firstSetupToken!;
    const { setupToken } = await beside((context) => unsealBinding({ ...context, ...context.config }));
    expect((await postForm(fixture.send, { setup_token: first })).status).toBe(403);
    expect((await postForm(fixture.send, { setup_token: setupToken! })).status).toBe(200);
  });
});

describe('bind-link beside a running serve', () => {
  it('gives a link whose code the serve exchanges', async () => {
    const { link, fingerprint } = await beside(makeLink);
    const query = new URL(link).searchParams;
    const { status, json } = await fixture.exchange(query.get('code')!);
    expect(status).toBe(200);
    const hash = createHash('sha256').update(keyOf(json).secret).digest('hex');
    expect(query.get('hmac_hash')).toBe(hash);
    expect(fingerprint.replaceAll(' ', '')).toBe(hash.slice(0, 16));
  });

  it('is refused once a binding is complete', async () => {
    await fixture.bind();
    await expect(beside(makeLink)).rejects.toMatchObject({
      code: 'SETUP_REQUIRED',
    });
  });

  it('makes the latest code, before one of the page', async () => {
    const fromPage = await fixture.connect();
    await beside(makeLink);
    expect((await fixture.exchange(fromPage.code)).status).toBe(401);
  });
});

describe('a webhook under an address with a path', () => {
  it('signs with that path, whether a proxy strips it or not', async () => {
    await fixture.stop();
    fixture = await startFixture({
      env: { SV_WEBHOOK_URL: 'https://hook.example/hooks/a' },
      clock: new ManualClock(),
    });
    const side = await fixture.bind();
    const headers = fixture.sign({ key: side.key });
    const unstripped = { method: 'POST', path: '/hooks/a/v1/health', headers };
    expect((await fixture.send(unstripped)).status).toBe(200);
    const bare = fixture.sign({ key: side.key, path: '/../../v1/health' });
    expect((await fixture.send({ method: 'POST', path: '/v1/health', headers: bare })).status).toBe(401);
  });
});
