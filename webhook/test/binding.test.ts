import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unsealBinding } from '../src/binding/unseal.ts';
import { webhookConfig } from '../src/config/config.ts';
import { openContext } from '../src/context.ts';
import { silentLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import {
  type DoorFixture,
  SERVICE_URL,
  SETUP_TOKEN,
  WEBHOOK_URL,
  credentialTicket,
  keyOf,
  makeLink,
  postForm,
  startDoor,
  storePlain,
  storeTicket,
} from './door-fixture.ts';

let door: DoorFixture;
beforeEach(async () => {
  door = await startDoor();
});
afterEach(() => door.stop());

/** The same data opened by another process, as a subcommand does. */
async function beside<T>(use: (context: Awaited<ReturnType<typeof openContext>>) => Promise<T>): Promise<T> {
  const { clock } = door;
  const context = await openContext(webhookConfig(door.env), { clock, logger: silentLogger });
  try {
    return await use(context);
  } finally {
    context.close();
  }
}

const CODE = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('the bind page', () => {
  it('asks for the set-up token and shows nothing of the service before it', async () => {
    const { status, headers, text } = await door.send({ path: '/bind', headers: { accept: 'text/html' } });
    expect(status).toBe(200);
    expect(text + JSON.stringify(headers)).not.toContain('vault.example');
    expect(text).toContain('name="setup_token"');
    const wrong = await postForm(door.send, { setup_token: 'not it' });
    expect(wrong.status).toBe(403);
    expect(wrong.text + JSON.stringify(wrong.headers)).not.toContain('vault.example');
    expect(wrong.text).toContain('That is not the set-up token');
  });

  it('has headers that allow no script, no frame, no cache and no referrer', async () => {
    const { headers } = await door.send({ path: '/bind' });
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
    const { headers, text } = await door.send({ path: '/bind' });
    const style = /<style>([^]*)<\/style>/.exec(text)![1]!;
    const hash = createHash('sha256').update(style).digest('base64');
    expect(headers['content-security-policy']).toContain(`style-src 'sha256-${hash}'`);
  });

  it('shows address and fingerprint after the token, then goes to the service with a code', async () => {
    const page = await postForm(door.send, { setup_token: SETUP_TOKEN });
    expect(page.status).toBe(200);
    expect(page.text).toContain(SERVICE_URL);
    expect(page.headers['content-security-policy']).toContain("form-action 'self' https://vault.example;");
    const shown = /fingerprint">([0-9a-f ]{19})</.exec(page.text)![1]!;
    const token = /name="connect_token" value="([^"]+)"/.exec(page.text)![1]!;
    const redirect = await postForm(door.send, { connect_token: token });
    expect(redirect.status).toBe(303);
    const link = new URL(redirect.headers.location!);
    expect(link.origin + link.pathname).toBe(`${SERVICE_URL}/vault/webhook-bind`);
    expect(link.searchParams.get('code')).toMatch(CODE);
    expect(Buffer.from(link.searchParams.get('webhook_url')!, 'base64url').toString()).toBe(WEBHOOK_URL);
    expect(link.searchParams.get('hmac_hash')!.slice(0, 16)).toBe(shown.replaceAll(' ', ''));
    expect(page.text).not.toContain(SETUP_TOKEN);
  });

  it('lets each page connect once', async () => {
    const { text } = await postForm(door.send, { setup_token: SETUP_TOKEN });
    const token = /name="connect_token" value="([^"]+)"/.exec(text)![1]!;
    expect((await postForm(door.send, { connect_token: token })).status).toBe(303);
    const again = await postForm(door.send, { connect_token: token });
    expect(again.status).toBe(403);
    expect(again.headers.location).toBeUndefined();
  });

  it('answers wrong set-up tokens beyond 10 a minute with 429, and takes the right one all the same', async () => {
    const wrong = () => postForm(door.send, { setup_token: 'wrong' });
    for (let tries = 0; tries < 10; tries += 1) expect((await wrong()).status).toBe(403);
    const refused = await wrong();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBe(60);
    expect((await postForm(door.send, { setup_token: SETUP_TOKEN })).status).toBe(200);
    door.clock.jump(3_600_000);
    expect((await wrong()).status).toBe(429);
    door.clock.advance(60_000);
    expect((await wrong()).status).toBe(403);
  });

  it('reads the token from the form alone', async () => {
    const byQuery = await door.send({
      method: 'POST',
      path: `/bind?setup_token=${SETUP_TOKEN}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'x=1',
    });
    expect(byQuery.status).toBe(400);
    const twice = await door.send({
      method: 'POST',
      path: '/bind',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `setup_token=${SETUP_TOKEN}&setup_token=${SETUP_TOKEN}`,
    });
    expect(twice.json.code).toBe('INVALID_REQUEST');
    const json = { method: 'POST', path: '/bind', headers: { 'content-type': 'application/json' } };
    expect((await door.send({ ...json, body: JSON.stringify({ setup_token: SETUP_TOKEN }) })).status).toBe(
      400,
    );
    const large = await postForm(door.send, { setup_token: 'x'.repeat(5000) });
    expect(large.status).toBe(413);
  });

  it('answers other methods 405, HEAD too', async () => {
    for (const method of ['HEAD', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers } = await door.send({ method, path: '/bind' });
      expect([status, headers.allow]).toEqual([405, 'GET, POST']);
    }
  });

  it('writes no set-up token, code or secret into the log', async () => {
    const { code } = await door.connect();
    const { json } = await door.exchange(code);
    await postForm(door.send, { setup_token: 'a-wrong-set-up-token' });
    for (const secret of [SETUP_TOKEN, code, json.hmacSecret, 'a-wrong-set-up-token']) {
      expect(door.logged()).not.toContain(secret);
    }
  });
});

describe('the set-up token', () => {
  it('is made at first start, told once, and kept as a hash', async () => {
    await door.stop();
    door = await startDoor({ env: { SV_WEBHOOK_SETUP_TOKEN: '' } });
    const token = door.webhook.firstSetupToken!;
    expect(Buffer.from(token, 'base64url').length).toBeGreaterThanOrEqual(16);
    const [row] = door.query<{ hash: Buffer }>('SELECT hash FROM setup_token');
    expect(row!.hash.equals(createHash('sha256').update(token).digest())).toBe(true);
    expect(door.logged()).not.toContain(token);
    await door.restart();
    expect(door.webhook.firstSetupToken).toBeUndefined();
    expect((await postForm(door.send, { setup_token: token })).status).toBe(200);
    expect((await postForm(door.send, { setup_token: '' })).status).toBe(403);
  });
});

describe('a binding', () => {
  it('is complete with the first valid request, and the page is sealed', async () => {
    const { code } = await door.connect();
    const { json } = await door.exchange(code);
    expect((await door.send({ path: '/bind' })).status).toBe(200);
    expect((await door.sendSigned({ key: keyOf(json) })).status).toBe(200);
    const sealed = await door.send({ path: '/bind' });
    expect([sealed.status, sealed.json.code]).toEqual([403, 'SETUP_REQUIRED']);
    const page = await door.send({ path: '/bind', headers: { accept: 'text/html,*/*' } });
    expect(page.status).toBe(403);
    expect(page.text).toContain('SETUP_REQUIRED');
    const posted = await postForm(door.send, { setup_token: SETUP_TOKEN }, { accept: 'application/json' });
    expect(posted.json.code).toBe('SETUP_REQUIRED');
  });

  it('that is pending is discarded by a new code', async () => {
    const first = await door.exchange((await door.connect()).code);
    const second = await door.connect();
    expect((await door.sendSigned({ key: keyOf(first.json) })).status).toBe(401);
    const { json } = await door.exchange(second.code);
    expect((await door.sendSigned({ key: keyOf(json) })).status).toBe(200);
  });

  it('that is pending accepts no ticket', async () => {
    const { json } = await door.exchange((await door.connect()).code);
    const side = { webhookId: json.webhookId, key: keyOf(json) };
    expect((await storePlain(door, storeTicket(door, side))).json.code).toBe('TICKET_INVALID');
    expect((await door.sendSigned({ key: side.key })).status).toBe(200);
    expect((await storePlain(door, storeTicket(door, side))).status).toBe(200);
  });

  it('survives a restart, its keys wrapped at rest', async () => {
    const side = await door.bind();
    await door.restart();
    expect((await door.sendSigned({ key: side.key })).status).toBe(200);
    const [row] = door.query<{ secret: Buffer }>('SELECT secret FROM binding_keys');
    expect(row!.secret.includes(Buffer.from(side.key.secret))).toBe(false);
  });

  it('to another service than the configured one does not start', async () => {
    await door.bind();
    door.env['SV_WEBHOOK_SERVICE_URL'] = 'https://other.example';
    await expect(door.restart()).rejects.toThrow('run unseal-bind');
    door.env['SV_WEBHOOK_SERVICE_URL'] = SERVICE_URL;
    await door.restart();
  });

  it('writes itself into the log of the webhook', async () => {
    await door.bind();
    const events = door.query<{ event_type: string }>('SELECT event_type FROM audit_log ORDER BY row');
    expect(events.at(-1)!.event_type).toBe('WEBHOOK_BOUND');
  });
});

describe('unseal-bind beside a running serve', () => {
  it('erases all keys at once', async () => {
    const side = await door.bind();
    await door.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key: side.key });
    await beside((context) => unsealBinding({ ...context, ...context.config }));
    expect(door.query('SELECT * FROM binding_keys')).toEqual([]);
    expect((await door.sendSigned({ key: side.key })).status).toBe(401);
    const ticket = credentialTicket(door, side);
    expect((await door.send({ path: `/v1/credential?ticket=${ticket}` })).status).toBe(401);
    expect((await door.send({ path: '/bind' })).status).toBe(200);
  });

  it('voids open codes, and the webhook can be bound anew', async () => {
    const { code } = await door.connect();
    await beside((context) => unsealBinding({ ...context, ...context.config }));
    expect((await door.exchange(code)).status).toBe(401);
    const side = await door.bind();
    expect(side.webhookId).toMatch(/^whk_/);
  });

  it('makes a new set-up token where none is configured', async () => {
    await door.stop();
    door = await startDoor({ env: { SV_WEBHOOK_SETUP_TOKEN: '' } });
    const first = door.webhook.firstSetupToken!;
    const { setupToken } = await beside((context) => unsealBinding({ ...context, ...context.config }));
    expect((await postForm(door.send, { setup_token: first })).status).toBe(403);
    expect((await postForm(door.send, { setup_token: setupToken! })).status).toBe(200);
  });
});

describe('bind-link beside a running serve', () => {
  it('gives a link whose code the serve exchanges', async () => {
    const { link, fingerprint } = await beside(makeLink);
    const query = new URL(link).searchParams;
    const { status, json } = await door.exchange(query.get('code')!);
    expect(status).toBe(200);
    const hash = createHash('sha256').update(keyOf(json).secret).digest('hex');
    expect(query.get('hmac_hash')).toBe(hash);
    expect(fingerprint.replaceAll(' ', '')).toBe(hash.slice(0, 16));
  });

  it('is refused once a binding is complete', async () => {
    await door.bind();
    await expect(beside(makeLink)).rejects.toMatchObject({
      code: 'SETUP_REQUIRED',
    });
  });

  it('makes the latest code, before one of the page', async () => {
    const fromPage = await door.connect();
    await beside(makeLink);
    expect((await door.exchange(fromPage.code)).status).toBe(401);
  });
});

describe('a webhook under an address with a path', () => {
  it('signs with that path, whether a proxy strips it or not', async () => {
    await door.stop();
    door = await startDoor({
      env: { SV_WEBHOOK_URL: 'https://hook.example/hooks/a' },
      clock: new ManualClock(),
    });
    const side = await door.bind();
    const headers = door.sign({ key: side.key });
    const unstripped = { method: 'POST', path: '/hooks/a/v1/health', headers };
    expect((await door.send(unstripped)).status).toBe(200);
    const bare = door.sign({ key: side.key, path: '/../../v1/health' });
    expect((await door.send({ method: 'POST', path: '/v1/health', headers: bare })).status).toBe(401);
  });
});
