import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { newKey } from '@svault/shared';
import { describe, expect, test, vi } from 'vitest';
import { type CommandLine, type Outcome, someone } from './command-line.ts';
import { type Answer, type FakeServer, fakeServer } from './fake-servers.ts';

const KEY = newKey('svagent');
const ADMIN_KEY = newKey('svadmin');
const TICKET = 'the.one-time.ticket';
const TOKEN = {
  accessToken: 'the-credential',
  serviceName: 'github',
  tokenType: 'PlainText',
  createdAt: '2026-11-20T12:00:00.000Z',
};

const clientOf = ({ url }: FakeServer, key = KEY): CommandLine['svault'] =>
  someone({ SVAULT_BASE_URL: url, SVAULT_KEY: key }).svault;
/** What an agent gets. */
const get = (service: FakeServer, ...more: readonly string[]): Promise<Outcome> =>
  clientOf(service)(['get', 'github', ...more]);

const GIVEN: Answer = { body: { token: TOKEN } };

/** A service that redirects. */
const redirecting = (location: string, status = 307): Promise<FakeServer> =>
  fakeServer(() => ({ status, headers: { location } }));

/** What an agent gets from a webhook that gives these answers one after another, the last one for ever. */
async function got(answers: readonly Answer[], ...more: readonly string[]) {
  let asked = 0;
  const webhook = await fakeServer(() => answers[asked++] ?? answers.at(-1));
  let issued = 0;
  const service = await fakeServer(() => ({
    status: 307,
    headers: { location: `${webhook.url}/v1/credential?ticket=${TICKET}${issued++}` },
  }));
  return { ...(await get(service, ...more)), service: service.received, webhook: webhook.received };
}

describe('R13: the 307', () => {
  test('is followed by hand: the webhook gets the ticket, and no key, cookie or referrer', async () => {
    const { service, webhook, ...outcome } = await got([GIVEN]);
    expect(outcome).toEqual({ code: 0, out: 'the-credential', err: '' });
    expect(service.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`]);
    const path = `/v1/credential?ticket=${TICKET}0`;
    expect(webhook).toMatchObject([{ method: 'GET', path, body: '' }]);
    for (const name of ['authorization', 'cookie', 'referer', 'x-agent-key', 'proxy-authorization'])
      expect(webhook[0]?.headers).not.toHaveProperty(name);
    expect(JSON.stringify(webhook)).not.toContain(KEY.slice(8));
  });

  test('is followed by an admin’s client in the same way', async () => {
    const webhook = await fakeServer(() => GIVEN);
    const service = await fakeServer(() => ({
      status: 200,
      body: { url: `${webhook.url}/v1/credential?ticket=${TICKET}`, expiresAt: '2026-11-20T12:00:00Z' },
    }));
    const { code, out } = await clientOf(service, ADMIN_KEY)(['get', 'github']);
    expect({ code, out }).toEqual({ code: 0, out: 'the-credential' });
    expect(service.received[0]).toMatchObject({
      method: 'POST',
      path: '/api/tokens/github/credential-ticket',
      body: '{}',
    });
    expect(webhook.received[0]!.headers).not.toHaveProperty('authorization');
  });

  test.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    'data:application/json,{}',
    'http://vault.example/v1/credential?ticket=x',
    'http://localhost.evil.example/',
    'http://127.0.0.1.evil.example/',
    'https://user:password@vault.example/',
    'ftp://vault.example/',
    '//vault.example/v1/credential',
    '/v1/credential?ticket=x',
    'https://vault.example/v1/credential#fragment',
    `https://vault.example/?${'x'.repeat(9_000)}`,
  ])('to %s is not followed', async (location) => {
    const service = await redirecting(location);
    const { code, out, err } = await get(service);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error: 127\.0\.0\.1:\d+ points to .*, which is not opened: https:\/\/ is.*\n$/);
    expect(err.length).toBeLessThan(300);
    expect(service.received).toHaveLength(1);
  });

  test.each([301, 302, 303, 308, 300])('with status %i is none', async (status) => {
    const webhook = await fakeServer(() => GIVEN);
    const service = await redirecting(`${webhook.url}/v1/credential`, status);
    const { code, out } = await get(service);
    expect({ code, out, asked: webhook.received.length }).toEqual({ code: 1, out: '', asked: 0 });
  });

  test('goes one step and no further: no loop, and nothing that a webhook redirects to', async () => {
    const evil = await fakeServer(() => GIVEN);
    const webhook = await redirecting(`${evil.url}/v1/credential?ticket=x`);
    const service = await redirecting(`${webhook.url}/v1/credential?ticket=x`);
    const { code, out } = await get(service);
    expect({ code, out, asked: evil.received.length }).toEqual({ code: 1, out: '', asked: 0 });
    expect(webhook.received).toHaveLength(1);
    const loop = await fakeServer(({ headers }) => ({
      status: 307,
      headers: { location: `http://${headers.host}/api/agents/credentials?service=github` },
    }));
    expect(await get(loop)).toMatchObject({ code: 1, out: '' });
    expect(loop.received.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, undefined]);
  });

  test('is needed: a credential that the control plane itself gives is not taken', async () => {
    const service = await fakeServer(() => GIVEN);
    const { code, out, err } = await get(service);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/something else answered 200; set SVAULT_BASE_URL/);
  });

  test('shows neither key nor ticket nor credential under --debug', async () => {
    const { code, err } = await got([GIVEN], '--debug');
    expect(code).toBe(0);
    expect(err).toMatch(/> GET .*credentials\?service=github&redirect=true\n< 307/);
    expect(err).toMatch(/> GET .*\/v1\/credential\?ticket=…\n< 200/);
    for (const secret of [KEY.slice(8), TICKET, 'the-credential']) expect(err).not.toContain(secret);
  });

  test('asks for a name as one parameter, with every character that it may have', async () => {
    const service = await fakeServer(() => GIVEN);
    await clientOf(service)(['get', 'a b&service=c#d%20']);
    const query = 'service=a%20b%26service%3Dc%23d%2520&redirect=true';
    expect(service.asked()[0]).toBe(`GET /api/agents/credentials?${query}`);
  });
});

test('get --check of what came sealed: there is a value, and no key is needed to say so', async () => {
  const sealed = { body: 'a..b.c.d', headers: { 'content-type': 'application/jose' } };
  expect(await got([sealed], '--check')).toMatchObject({ code: 0, out: '', err: 'github has a value\n' });
});

test.each([
  ['more', '{"a":1}'],
  ['scopes', '["read","write"]'],
])('get --field %s prints a member that is no text as JSON', async (field, out) => {
  const token = { ...TOKEN, scopes: ['read', 'write'], more: { a: 1 } };
  expect(await got([{ body: { token } }], '--field', field)).toMatchObject({ out });
});

describe('a webhook that lies', () => {
  const wrong = (body: unknown, type = ''): Answer => ({ body, headers: { 'content-type': type } });
  test.each<[string, Answer, RegExp]>([
    ['nothing', wrong(''), /is not a credential/],
    ['a page', wrong('<html>', 'text/html'), /is not a credential/],
    ['no token', wrong({}), /is not a credential/],
    ['a number', wrong({ token: { ...TOKEN, accessToken: 1 } }), /is not a credential/],
    [
      'another token',
      wrong({ token: { ...TOKEN, serviceName: 'bank' } }),
      /sent another credential than github/,
    ],
    [
      'no UTF-8',
      wrong(Buffer.from(JSON.stringify({ token: TOKEN })).fill(0xff, 30, 32)),
      /is not a credential/,
    ],
    [
      'a member twice',
      wrong(`{"token":{},${JSON.stringify({ token: TOKEN }).slice(1)}`),
      /is not a credential/,
    ],
    [
      'half a pair',
      wrong(JSON.stringify({ token: TOKEN }).replace('the-', '\\ud800')),
      /is not a credential/,
    ],
    ['more than anybody stores', wrong('x'.repeat(9 * 1024 * 1024)), /more than a svault would/],
    ['what is sealed, to nobody', wrong('a..b.c.d', 'application/jose'), /came sealed/],
    ['what is sealed, in capitals', wrong('a', 'Application/JOSE; x=y'), /came sealed/],
    ['what is nearly sealed', wrong('a', 'application/jose+json'), /is not a credential/],
    ['another success', { status: 204 }, /answered 204/],
    ['no refusal of its own', { status: 418, body: 'teapot' }, /answered 418/],
  ])('%s is no credential', async (_what, answer, said) => {
    const { code, out, err } = await got([answer]);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(said);
    expect(err).toMatch(/^error: [^\n]*\n$/);
  });

  test.each([
    [401, 'TICKET_INVALID', 1],
    [502, 'WEBHOOK_REFUSED', 1],
    [403, 'DELIVERY_NOT_ALLOWED', 3],
    [404, 'NOT_FOUND', 4],
    [422, 'EMPTY_TOKEN', 1],
  ])('%i %s: exit %i, since it says nothing of who is signed in', async (status, code, exit) => {
    const said = await got([{ status, body: { error: 'no', code } }]);
    expect(said).toMatchObject({ code: exit, out: '' });
    expect(said.err).toContain(`[${code}: svault explain ${code}]`);
    if (status === 404) expect(said.err).toContain('the webhook holds nothing for github');
  });
});

test('exec fetches once what fills two variables', async () => {
  const webhook = await fakeServer(() => GIVEN);
  const service = await redirecting(`${webhook.url}/v1/credential?ticket=x`);
  const command = ['--with', 'A=github', '--with', 'B=github', '--', 'sh', '-c', 'test "$A$B" = "$C"'];
  const env = { PATH: process.env['PATH'] ?? '', C: 'the-credentialthe-credential', B: 'another' };
  expect(await clientOf(service)(['exec', ...command], { env })).toMatchObject({ code: 0 });
  expect(webhook.received).toHaveLength(1);
});

describe('an answer that says later', () => {
  const later = (code = 'REFRESH_NEEDED', status = 409, seconds = '0'): Answer => ({
    status,
    headers: { 'retry-after': seconds },
    body: { error: 'e', code },
  });

  test('takes all of it again, with a new ticket', async () => {
    const { webhook, ...said } = await got([later(), GIVEN]);
    expect(said).toMatchObject({ code: 0, out: 'the-credential', err: 'e; asking again\n' });
    const tickets = webhook.map(({ path }) => path.replace('/v1/credential?ticket=', ''));
    expect(tickets).toEqual([`${TICKET}0`, `${TICKET}1`]);
  });

  test.each<[string, number, number, Answer]>([
    ['a request with 409', 3, 1, later()],
    ['a request with 503', 3, 5, later('UNAVAILABLE', 503)],
    ['a request with 429', 3, 7, later('RATE_LIMITED', 429)],
    ['a denial with Retry-After', 1, 3, later('DELIVERY_NOT_ALLOWED', 403)],
    ['a Retry-After of an hour', 1, 1, later('REFRESH_NEEDED', 409, '3600')],
  ])('%s is sent at most %i times: exit %i', async (_what, times, code, answer) => {
    const said = await got([answer]);
    expect([said.webhook.length, said.code]).toEqual([times, code]);
  });

  test.each([
    ['0', 250],
    ['7', 7_000],
    ['30', 30_000],
  ])('Retry-After: %s is heeded', async (seconds, pauseMs) => {
    const pause = vi.spyOn(timers, 'setTimeout').mockResolvedValue(undefined);
    syncBuiltinESMExports();
    try {
      expect(await got([later('REFRESH_NEEDED', 409, seconds), GIVEN])).toMatchObject({ code: 0 });
      expect(pause.mock.calls).toEqual([[pauseMs, undefined, { signal: expect.any(AbortSignal) }]]);
    } finally {
      pause.mockRestore();
      syncBuiltinESMExports();
    }
  });

  test('of the control plane is asked again too', async () => {
    const webhook = await fakeServer(() => GIVEN);
    const away = { status: 503, body: { error: 'away', code: 'WEBHOOK_UNAVAILABLE', retryAfter: 0 } };
    const answers: Answer[] = [away];
    const location = `${webhook.url}/v1/credential?ticket=x`;
    const service = await fakeServer(() => answers.shift() ?? { status: 307, headers: { location } });
    expect(await get(service)).toMatchObject({ code: 0 });
    expect(service.received).toHaveLength(2);
  });

  test('ends at Ctrl-C', async () => {
    const stop = new AbortController();
    const service = await fakeServer(() => {
      setImmediate(() => stop.abort());
      return { status: 503, body: { error: 'away', code: 'WEBHOOK_UNAVAILABLE', retryAfter: 20 } };
    });
    const running = clientOf(service)(['get', 'github'], { signal: stop.signal });
    expect(await running).toMatchObject({ code: 130, out: '' });
  });
});
