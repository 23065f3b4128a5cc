/** Binding and rotation beyond the conformance suite: what is on the disk, what time does, and other processes. */
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { silentLogger } from '@svault/server-kit/logger';
import type { HmacKey } from '@svault/shared';
import { webhookConfig } from '../../src/config/config.ts';
import { openContext } from '../../src/context.ts';
import {
  type WebhookFixture,
  SERVICE_URL,
  SETUP_TOKEN,
  WEBHOOK_URL,
  credentialTicket,
  fixtureOfTest,
  keyOf,
  makeLink,
  postForm,
  storePlain,
  storeTicket,
} from '../support/webhook-fixture.ts';

const MINUTE = 60_000;
const CODE = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** Makes a link in another process, as `bind-link` does. */
async function linkBeside({ env, clock }: WebhookFixture): ReturnType<typeof makeLink> {
  const context = await openContext(webhookConfig(env), { clock, logger: silentLogger });
  try {
    return await makeLink(context);
  } finally {
    context.close();
  }
}
const sha256Hex = (bytes: string | Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('the bind page', () => {
  it('shows nothing of the control plane before the setup token, and allows only its own style and script', async () => {
    const fixture = await fixtureOfTest();
    const page = await fixture.send({ path: '/bind', headers: { accept: 'text/html' } });
    const wrong = await postForm(fixture.send, { setup_token: 'not it' });
    expect([page.status, wrong.status]).toEqual([200, 403]);
    for (const { text, headers } of [page, wrong])
      expect(text + JSON.stringify(headers)).not.toContain('vault.example');
    const hashOf = (tag: RegExp): string =>
      `'sha256-${createHash('sha256').update(tag.exec(page.text)![1]!).digest('base64')}'`;
    expect(String(page.headers['content-security-policy']).split(';')).toEqual([
      "default-src 'none'",
      `style-src ${hashOf(/<style>([^]*)<\/style>/)}`,
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
      `script-src ${hashOf(/<script>([^]*)<\/script>/)}`,
    ]);
    expect(page.headers).toMatchObject({
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });

  // spec: GET /bind | browser | The webhook's page that produces the one-time registration link.
  it('shows address and fingerprint after the token, then redirects to the control plane with a code, once', async () => {
    const fixture = await fixtureOfTest();
    const page = await postForm(fixture.send, { setup_token: SETUP_TOKEN });
    expect(page.text).toContain(SERVICE_URL);
    expect(page.text).not.toContain(SETUP_TOKEN);
    expect(page.headers['content-security-policy']).toContain("form-action 'self' https://vault.example;");
    const shown = /fingerprint">([0-9a-f ]{19})</.exec(page.text)![1]!;
    const fields = { connect_token: /name="connect_token" value="([^"]+)"/.exec(page.text)![1]! };
    const redirect = await postForm(fixture.send, fields);
    expect(redirect.status).toBe(303);
    const link = new URL(redirect.headers.location!);
    expect(link.origin + link.pathname).toBe(`${SERVICE_URL}/vault/webhook-bind`);
    expect(link.searchParams.get('code')).toMatch(CODE);
    expect(Buffer.from(link.searchParams.get('webhook_url')!, 'base64url').toString()).toBe(WEBHOOK_URL);
    expect(link.searchParams.get('hmac_hash')!.slice(0, 16)).toBe(shown.replaceAll(' ', ''));
    const again = await postForm(fixture.send, fields);
    expect([again.status, again.headers.location]).toEqual([403, undefined]);
  });

  it('rejects wrong setup tokens beyond 10 a minute with 429, and still accepts the right one', async () => {
    const fixture = await fixtureOfTest();
    const wrong = () => postForm(fixture.send, { setup_token: 'wrong' });
    for (let tries = 0; tries < 10; tries += 1) expect((await wrong()).status).toBe(403);
    const refused = await wrong();
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '60']);
    expect((await postForm(fixture.send, { setup_token: SETUP_TOKEN })).status).toBe(200);
    fixture.clock.jump(3_600_000);
    expect((await wrong()).status).toBe(429);
    fixture.clock.advance(60_000);
    expect((await wrong()).status).toBe(403);
  });

  it('cancel drops the offer, so that its page connects nothing afterwards', async () => {
    const fixture = await fixtureOfTest();
    const page = await postForm(fixture.send, { setup_token: SETUP_TOKEN });
    const fields = { connect_token: /name="connect_token" value="([^"]+)"/.exec(page.text)![1]! };
    const cancelled = await postForm(fixture.send, { ...fields, decision: 'cancel' });
    expect([cancelled.status, cancelled.text]).toEqual([
      200,
      expect.stringContaining('Nothing is connected'),
    ]);
    expect(fixture.query('SELECT * FROM binding_code')).toEqual([]);
    const again = await postForm(fixture.send, fields);
    expect([again.status, again.headers.location]).toEqual([403, undefined]);
  });

  it('an unknown address is a page for a browser alone, and none of those that programs call is', async () => {
    const fixture = await fixtureOfTest();
    const accept = 'text/html,*/*';
    const page = await fixture.send({ path: '/nowhere', headers: { accept } });
    expect([page.status, page.text]).toEqual([404, expect.stringContaining('There is no page here')]);
    expect(page.headers['content-security-policy']).toContain("style-src 'sha256-");
    for (const path of ['/v1/nowhere', '/v1/credential']) {
      const { headers } = await fixture.send({ path, headers: { accept } });
      expect([path, headers['content-type']]).toEqual([path, 'application/json; charset=utf-8']);
    }
    expect((await fixture.send({ path: '/nowhere' })).json.code).toBe('NOT_FOUND');
  });

  it('rejects other methods with 405, HEAD too', async () => {
    const fixture = await fixtureOfTest();
    for (const method of ['HEAD', 'PUT', 'OPTIONS']) {
      const { status, headers } = await fixture.send({ method, path: '/bind' });
      expect([status, headers.allow]).toEqual([405, 'GET, POST']);
    }
  });

  it('leaves no setup token, code or secret in the log, and stores only the SHA-256 of a code', async () => {
    const fixture = await fixtureOfTest();
    const { code } = await fixture.connect();
    const [row] = fixture.query<{ code_hash: Buffer }>('SELECT * FROM binding_code');
    expect(row!.code_hash.toString('hex')).toBe(sha256Hex(code));
    expect(JSON.stringify(row)).not.toContain(code);
    const { json } = await fixture.exchange(code);
    await postForm(fixture.send, { setup_token: 'a-wrong-set-up-token' });
    for (const secret of [SETUP_TOKEN, code, json.hmacSecret, 'a-wrong-set-up-token'])
      expect(fixture.logged()).not.toContain(secret);
  });
});

it('the setup token is generated at the first start, printed once, and stored as a hash', async () => {
  const fixture = await fixtureOfTest({ env: { SV_WEBHOOK_SETUP_TOKEN: '' } });
  const token = fixture.webhook.firstSetupToken!;
  expect(Buffer.from(token, 'base64url').length).toBeGreaterThanOrEqual(16);
  const [row] = fixture.query<{ hash: Buffer }>('SELECT hash FROM setup_token');
  expect(row!.hash.toString('hex')).toBe(sha256Hex(token));
  expect(fixture.logged()).not.toContain(token);
  await fixture.restart();
  expect(fixture.webhook.firstSetupToken).toBeUndefined();
  expect((await postForm(fixture.send, { setup_token: token })).status).toBe(200);
  expect((await postForm(fixture.send, { setup_token: '' })).status).toBe(403);
});

describe('a binding', () => {
  // spec: with a secret established through the one-time /v1/exchange code.
  it('is complete with the first valid request: the page is closed and the code stays used', async () => {
    const fixture = await fixtureOfTest();
    const { code } = await fixture.connect();
    const answers = await Promise.all(Array.from({ length: 12 }, () => fixture.exchange(code)));
    const won = answers.find(({ status }) => status === 200)!;
    expect(answers.filter(({ json }) => json.code === 'CODE_USED')).toHaveLength(11);
    expect((await fixture.send({ path: '/bind' })).status).toBe(200);
    const side = { webhookId: won.json.webhookId, key: keyOf(won.json) };
    expect((await storePlain(fixture, storeTicket(fixture, side))).json.code).toBe('TICKET_INVALID');
    expect((await fixture.sendSigned({ key: side.key })).status).toBe(200);
    expect((await storePlain(fixture, storeTicket(fixture, side))).status).toBe(200);
    const page = await fixture.send({ path: '/bind', headers: { accept: 'text/html,*/*' } });
    expect([page.status, page.text]).toEqual([
      403,
      expect.stringMatching(/<h1>This webhook is connected<[^]*SETUP_REQUIRED/),
    ]);
    const posted = await postForm(fixture.send, { setup_token: SETUP_TOKEN }, { accept: 'application/json' });
    expect([posted.status, posted.json.code]).toEqual([403, 'SETUP_REQUIRED']);
    const { event_type: logged } = fixture
      .query<{ event_type: string }>(`SELECT * FROM audit_log WHERE event_type LIKE 'WEBHOOK%'`)
      .at(-1)!;
    expect(logged).toBe('WEBHOOK_BOUND');

    await fixture.restart();
    expect((await fixture.exchange(code)).json.code).toBe('CODE_USED');
    expect((await fixture.sendSigned({ key: side.key })).status).toBe(200);
    const [row] = fixture.query<{ secret: Buffer }>('SELECT secret FROM binding_keys');
    expect(row!.secret.includes(Buffer.from(side.key.secret))).toBe(false);
  });

  it('that is pending is discarded by a new code, of which only the latest is valid', async () => {
    const fixture = await fixtureOfTest();
    const first = await fixture.exchange((await fixture.connect()).code);
    const former = await fixture.connect();
    const { code } = await fixture.connect();
    expect((await fixture.sendSigned({ key: keyOf(first.json) })).status).toBe(401);
    expect((await fixture.exchange(former.code)).json.code).toBe('SIGNATURE_INVALID');
    const { json } = await fixture.exchange(code);
    expect((await fixture.sendSigned({ key: keyOf(json) })).status).toBe(200);
  });

  it('to another control plane than the configured one does not start', async () => {
    const fixture = await fixtureOfTest();
    await fixture.bind();
    fixture.env['SV_WEBHOOK_SERVICE_URL'] = 'https://other.example';
    await expect(fixture.restart()).rejects.toThrow('svault webhook unbind, then unseal-bind');
    fixture.env['SV_WEBHOOK_SERVICE_URL'] = SERVICE_URL;
    await fixture.restart();
  });

  it('under an address with a path is signed with the path, whether or not a proxy strips it', async () => {
    const fixture = await fixtureOfTest({ env: { SV_WEBHOOK_URL: 'https://hook.example/hooks/a' } });
    const { key } = await fixture.bind();
    const unstripped = { method: 'POST', path: '/hooks/a/v1/health', headers: fixture.sign({ key }) };
    expect((await fixture.send(unstripped)).status).toBe(200);
    const bare = fixture.sign({ key, path: '/../../v1/health' });
    expect((await fixture.send({ method: 'POST', path: '/v1/health', headers: bare })).status).toBe(401);
  });
});

describe('bind-link while serve runs', () => {
  it('creates the latest code, which serve exchanges, and none once a binding is complete', async () => {
    const fixture = await fixtureOfTest();
    const fromPage = await fixture.connect();
    const { link, fingerprint } = await linkBeside(fixture);
    expect((await fixture.exchange(fromPage.code)).status).toBe(401);
    const query = new URL(link).searchParams;
    const { json } = await fixture.exchange(query.get('code')!);
    const hash = sha256Hex(keyOf(json).secret);
    expect([query.get('hmac_hash'), fingerprint.replaceAll(' ', '')]).toEqual([hash, hash.slice(0, 16)]);
    expect((await fixture.sendSigned({ key: keyOf(json) })).status).toBe(200);
    await expect(linkBeside(fixture)).rejects.toMatchObject({ code: 'SETUP_REQUIRED' });
  });
});

describe('a rotated key', () => {
  const rotate = async (fixture: WebhookFixture, key: HmacKey): Promise<HmacKey> => {
    const { json } = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key });
    return keyOf(json);
  };
  const healthStatus = async (fixture: WebhookFixture, key: HmacKey): Promise<number> =>
    (await fixture.sendSigned({ key })).status;
  const keyStates = (fixture: WebhookFixture): string[] =>
    fixture
      .query<{ state: string }>('SELECT state FROM binding_keys ORDER BY state')
      .map(({ state }) => state);

  it('is pending, also after a restart, until a request under it is accepted, with any number of concurrent requests', async () => {
    const fixture = await fixtureOfTest();
    const { key } = await fixture.bind();
    const next = await rotate(fixture, key);
    await fixture.restart();
    expect([await healthStatus(fixture, key), keyStates(fixture)]).toEqual([200, ['current', 'pending']]);
    const answers = await Promise.all(Array.from({ length: 10 }, () => healthStatus(fixture, next)));
    expect([new Set(answers), keyStates(fixture)]).toEqual([new Set([200]), ['current', 'former']]);
    const events = fixture.query<{ event_type: string }>('SELECT event_type FROM audit_log ORDER BY row');
    expect(events.at(-1)!.event_type).toBe('WEBHOOK_SECRET_ROTATED');
    const byFormer = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'rotate' }, key });
    expect([byFormer.status, byFormer.json.code]).toEqual([401, 'SIGNATURE_INVALID']);
    expect(keyStates(fixture)).toEqual(['current', 'former']);
  });

  it('leaves requests and tickets of the former key valid for ten minutes, wherever the clock is set', async () => {
    const fixture = await fixtureOfTest();
    const side = await fixture.bind();
    await storePlain(fixture, storeTicket(fixture, side));
    const next = await rotate(fixture, side.key);
    expect(await healthStatus(fixture, next)).toBe(200);
    const byFormer = async (): Promise<number[]> => [
      await healthStatus(fixture, side.key),
      (await fixture.send({ path: `/v1/credential?ticket=${credentialTicket(fixture, side)}` })).status,
    ];
    fixture.clock.advance(10 * MINUTE - 1);
    expect(await byFormer()).toEqual([200, 200]);
    fixture.clock.advance(1);
    expect(await byFormer()).toEqual([401, 401]);
    expect(await healthStatus(fixture, next)).toBe(200);
    for (const shiftMs of [-9 * MINUTE, -60 * MINUTE]) {
      fixture.clock.jump(shiftMs);
      expect(await byFormer()).toEqual([401, 401]);
      await fixture.restart();
      expect(await byFormer()).toEqual([401, 401]);
    }
    expect(keyStates(fixture)).toEqual(['current']);
  });

  it('requested under the pending key activates that key and creates another', async () => {
    const fixture = await fixtureOfTest();
    const { key } = await fixture.bind();
    const second = await rotate(fixture, key);
    const third = await rotate(fixture, second);
    expect(await healthStatus(fixture, key)).toBe(200);
    expect(await healthStatus(fixture, third)).toBe(200);
    // Two rotations within ten minutes: the first key of all is gone with the second activation.
    expect([await healthStatus(fixture, key), await healthStatus(fixture, second)]).toEqual([401, 200]);
  });

  it('is created only for the operation `rotate`', async () => {
    const fixture = await fixtureOfTest();
    const { key } = await fixture.bind();
    const other = await fixture.sendSigned({ path: '/v1/exchange', body: { op: 'other' }, key });
    expect([other.status, other.json.code]).toEqual([400, 'INVALID_REQUEST']);
    expect((await fixture.sendSigned({ path: '/v1/exchange', key })).status).toBe(400);
  });
});
