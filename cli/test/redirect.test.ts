import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers/promises';
import { newKey } from '@svault/shared';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type CommandLine, commandLine } from './command-line.ts';
import { type Answer, type FakeServer, type Received, fakeServer } from './fake-servers.ts';

const KEY = newKey('svagent');
const ADMIN_KEY = newKey('svadmin');
const TICKET = 'the.one-time.ticket';
const TOKEN = {
  accessToken: 'the-credential',
  serviceName: 'github',
  tokenType: 'PlainText',
  createdAt: '2026-11-20T12:00:00.000Z',
};

const open: (FakeServer | CommandLine)[] = [];
afterEach(async () => {
  for (const each of open.splice(0)) await ('close' in each ? each.close() : each.remove());
});

async function server(answer: (request: Received) => Answer): Promise<FakeServer> {
  const started = await fakeServer(answer);
  open.push(started);
  return started;
}

function someone(baseUrl: string, key = KEY): CommandLine {
  const line = commandLine({ SVAULT_BASE_URL: baseUrl, SVAULT_KEY: key });
  open.push(line);
  return line;
}

/** A service that redirects. */
const redirecting = (location: string, status = 307): Promise<FakeServer> =>
  server(() => ({ status, headers: { location } }));

/** A service and a webhook; the webhook gives the answers one after another, the last one for ever. */
async function pairThatAnswers(...answers: [Answer, ...Answer[]]): Promise<{
  readonly service: FakeServer;
  readonly webhook: FakeServer;
}> {
  let asked = 0;
  const webhook = await server(() => answers[Math.min(asked++, answers.length - 1)] ?? answers[0]);
  let issued = 0;
  const service = await server(() => ({
    status: 307,
    headers: { location: `${webhook.url}/v1/credential?ticket=${TICKET}${issued++}` },
  }));
  return { service, webhook };
}

describe('R13: the 307', () => {
  test('is followed by hand: the webhook gets the ticket, and no key, cookie or referrer', async () => {
    const { service, webhook } = await pairThatAnswers({ status: 200, body: { token: TOKEN } });
    const agent = someone(service.url);
    expect(await agent.svault(['get', 'github'])).toEqual({ code: 0, out: 'the-credential', err: '' });
    expect(service.received.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`]);
    expect(webhook.received).toHaveLength(1);
    const [{ method, path, headers, body } = webhook.received[0]!] = webhook.received;
    expect({ method, path, body }).toEqual({
      method: 'GET',
      path: `/v1/credential?ticket=${TICKET}0`,
      body: '',
    });
    for (const name of ['authorization', 'cookie', 'referer', 'x-agent-key', 'proxy-authorization'])
      expect(headers).not.toHaveProperty(name);
    expect(JSON.stringify(headers)).not.toContain(KEY.slice(8));
  });

  test('is followed by an admin’s client in the same way', async () => {
    const webhook = await server(() => ({ status: 200, body: { token: TOKEN } }));
    const service = await server(() => ({
      status: 200,
      body: { url: `${webhook.url}/v1/credential?ticket=${TICKET}`, expiresAt: '2026-11-20T12:00:00Z' },
    }));
    const { code, out } = await someone(service.url, ADMIN_KEY).svault(['get', 'github']);
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
    const { code, out, err } = await someone(service.url).svault(['get', 'github']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error: 127\.0\.0\.1:\d+ points to .*, which is not opened: https:\/\/ is.*\n$/);
    expect(err.length).toBeLessThan(300);
    expect(service.received).toHaveLength(1);
  });

  test('of 100 KB is not followed', async () => {
    const service = await redirecting(`https://vault.example/?${'x'.repeat(100_000)}`);
    const { code, out, err } = await someone(service.url).svault(['get', 'github']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error: [^\n]{1,200}\n$/);
  });

  test.each([301, 302, 303, 308, 300])('with status %i is none', async (status) => {
    const webhook = await server(() => ({ status: 200, body: { token: TOKEN } }));
    const service = await redirecting(`${webhook.url}/v1/credential`, status);
    const { code, out } = await someone(service.url).svault(['get', 'github']);
    expect({ code, out, asked: webhook.received.length }).toEqual({ code: 1, out: '', asked: 0 });
  });

  test('goes one step and no further: no loop, and nothing that a webhook redirects to', async () => {
    const evil = await server(() => ({ status: 200, body: { token: TOKEN } }));
    const webhook = await redirecting(`${evil.url}/v1/credential?ticket=x`);
    const service = await redirecting(`${webhook.url}/v1/credential?ticket=x`);
    const { code, out } = await someone(service.url).svault(['get', 'github']);
    expect({ code, out, asked: evil.received.length }).toEqual({ code: 1, out: '', asked: 0 });
    expect(webhook.received).toHaveLength(1);
    const loop = await server(({ headers }) => ({
      status: 307,
      headers: { location: `http://${headers.host}/api/agents/credentials?service=github` },
    }));
    expect(await someone(loop.url).svault(['get', 'github'])).toMatchObject({ code: 1, out: '' });
    expect(loop.received.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`, undefined]);
  });

  test('is needed: a credential that the control plane itself gives is not taken', async () => {
    const service = await server(() => ({ status: 200, body: { token: TOKEN } }));
    const { code, out, err } = await someone(service.url).svault(['get', 'github']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/answers 200 where a svault redirects/);
  });

  test('shows neither key nor ticket nor credential under --debug', async () => {
    const { service } = await pairThatAnswers({ status: 200, body: { token: TOKEN } });
    const { code, err } = await someone(service.url).svault(['get', 'github', '--debug']);
    expect(code).toBe(0);
    expect(err).toMatch(/> GET .*credentials\?service=github&redirect=true\n< 307/);
    expect(err).toMatch(/> GET .*\/v1\/credential\?ticket=…\n< 200/);
    for (const secret of [KEY.slice(8), TICKET, 'the-credential']) expect(err).not.toContain(secret);
  });
});

test('get --check of what came sealed: there is a value, and no key is needed to say so', async () => {
  const answer = { status: 200, body: 'a..b.c.d', headers: { 'content-type': 'application/jose' } };
  const { service } = await pairThatAnswers(answer);
  expect(await someone(service.url).svault(['get', 'github', '--check'])).toEqual({
    code: 0,
    out: '',
    err: 'github has a value\n',
  });
});

test('get --field prints a member that is no text as JSON', async () => {
  const token = { ...TOKEN, scopes: ['read', 'write'], more: { a: 1 } };
  const { service } = await pairThatAnswers({ status: 200, body: { token } });
  const agent = someone(service.url);
  expect((await agent.svault(['get', 'github', '--field', 'more'])).out).toBe('{"a":1}');
  expect((await agent.svault(['get', 'github', '--field', 'scopes'])).out).toBe('["read","write"]');
});

describe('a webhook that lies', () => {
  const wrong = (body: unknown, headers = {}): Answer => ({ status: 200, body, headers });
  test.each<[string, Answer, RegExp]>([
    ['nothing', wrong(''), /is no credential/],
    ['a page', wrong('<html>', { 'content-type': 'text/html' }), /is no credential/],
    ['no token', wrong({}), /is no credential/],
    ['a number', wrong({ token: { ...TOKEN, accessToken: 1 } }), /is no credential/],
    ['another token', wrong({ token: { ...TOKEN, serviceName: 'bank' } }), /of another token than github/],
    ['no UTF-8', wrong(Buffer.from(JSON.stringify({ token: TOKEN })).fill(0xff, 30, 32)), /is no credential/],
    ['a member twice', wrong(`{"token":{},${JSON.stringify({ token: TOKEN }).slice(1)}`), /is no credential/],
    ['half a pair', wrong(JSON.stringify({ token: TOKEN }).replace('the-', '\\ud800')), /is no credential/],
    ['more than anybody stores', wrong('x'.repeat(9 * 1024 * 1024)), /more than a svault would/],
    ['what is sealed, to nobody', wrong('a..b.c.d', { 'content-type': 'application/jose' }), /came sealed/],
    ['what is sealed, in capitals', wrong('a', { 'content-type': 'Application/JOSE; x=y' }), /came sealed/],
    ['what is nearly sealed', wrong('a', { 'content-type': 'application/jose+json' }), /is no credential/],
    ['another success', { status: 204 }, /answered 204/],
    ['no refusal of its own', { status: 418, body: 'teapot' }, /answered 418/],
  ])('%s is no credential', async (_what, answer, said) => {
    const { service } = await pairThatAnswers(answer);
    const { code, out, err } = await someone(service.url).svault(['get', 'github']);
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
    const { service } = await pairThatAnswers({ status, body: { error: 'no', code } });
    const said = await someone(service.url).svault(['get', 'github']);
    expect({ code: said.code, out: said.out }).toEqual({ code: exit, out: '' });
    expect(said.err).toContain(`[${code}: svault explain ${code}]`);
    if (status === 404) expect(said.err).toContain('the webhook holds nothing for github');
  });

  test('cannot move the cursor by what it refuses with', async () => {
    const error = '\u001b[2J\u001b]0;title\u0007 \u202e no\nerror: second line';
    const { service } = await pairThatAnswers({ status: 403, body: { error, code: 'DELIVERY_NOT_ALLOWED' } });
    const { code, err } = await someone(service.url).svault(['get', 'github']);
    expect(code).toBe(3);
    expect(err).toMatch(/^[^\p{Cc}\p{Cf}]*\n$/u);
  });
});

test('a name is one parameter, with every character that it may have', async () => {
  const { service } = await pairThatAnswers({ status: 200, body: { token: TOKEN } });
  await someone(service.url).svault(['get', 'a b&service=c#d%20']);
  expect(service.received.map(({ path }) => path)).toEqual([
    '/api/agents/credentials?service=a%20b%26service%3Dc%23d%2520&redirect=true',
  ]);
});

test('exec fetches once what fills two variables', async () => {
  const { service, webhook } = await pairThatAnswers({ status: 200, body: { token: TOKEN } });
  const command = ['--with', 'A=github', '--with', 'B=github', '--', 'sh', '-c', 'test "$A$B" = "$C"'];
  const env = { PATH: process.env['PATH'] ?? '', C: 'the-credentialthe-credential', B: 'another' };
  expect(await someone(service.url).svault(['exec', ...command], { env })).toMatchObject({ code: 0 });
  expect(webhook.received).toHaveLength(1);
});

describe('an answer that says later', () => {
  const LATER = {
    status: 409,
    headers: { 'retry-after': '0' },
    body: { error: 'e', code: 'REFRESH_NEEDED' },
  };

  test('takes all of it again, with a new ticket', async () => {
    const { service, webhook } = await pairThatAnswers(LATER, { status: 200, body: { token: TOKEN } });
    const { code, out, err } = await someone(service.url).svault(['get', 'github']);
    expect({ code, out, err }).toEqual({ code: 0, out: 'the-credential', err: 'e; asking again\n' });
    expect(webhook.received.map(({ path }) => path)).toEqual([
      `/v1/credential?ticket=${TICKET}0`,
      `/v1/credential?ticket=${TICKET}1`,
    ]);
  });

  test.each([
    [409, 'REFRESH_NEEDED', 1],
    [503, 'UNAVAILABLE', 5],
    [429, 'RATE_LIMITED', 7],
  ])('%i is asked three times at most', async (status, code, exit) => {
    const { service, webhook } = await pairThatAnswers({ ...LATER, status, body: { error: 'e', code } });
    expect((await someone(service.url).svault(['get', 'github'])).code).toBe(exit);
    expect(webhook.received).toHaveLength(3);
  });

  test.each([
    ['0', 250],
    ['7', 7_000],
    ['30', 30_000],
  ])('Retry-After: %s is heeded', async (seconds, pauseMs) => {
    const pause = vi.spyOn(timers, 'setTimeout').mockResolvedValue(undefined);
    syncBuiltinESMExports();
    try {
      const later = { ...LATER, headers: { 'retry-after': seconds } };
      const { service } = await pairThatAnswers(later, { status: 200, body: { token: TOKEN } });
      expect(await someone(service.url).svault(['get', 'github'])).toMatchObject({ out: 'the-credential' });
      expect(pause.mock.calls).toEqual([[pauseMs, undefined, { signal: expect.any(AbortSignal) }]]);
    } finally {
      pause.mockRestore();
      syncBuiltinESMExports();
    }
  });

  test('a refusal is final, though it says when to come back', async () => {
    const answer = { ...LATER, status: 403, body: { error: 'e', code: 'DELIVERY_NOT_ALLOWED' } };
    const { service, webhook } = await pairThatAnswers(answer);
    expect(await someone(service.url).svault(['get', 'github'])).toMatchObject({ code: 3 });
    expect(webhook.received).toHaveLength(1);
  });

  test('much later is for the caller to wait', async () => {
    const { service, webhook } = await pairThatAnswers({ ...LATER, headers: { 'retry-after': '3600' } });
    expect((await someone(service.url).svault(['get', 'github'])).code).toBe(1);
    expect(webhook.received).toHaveLength(1);
  });

  test('of the control plane is asked again too', async () => {
    const webhook = await server(() => ({ status: 200, body: { token: TOKEN } }));
    let asked = 0;
    const service = await server(() =>
      asked++ === 0
        ? { status: 503, body: { error: 'away', code: 'WEBHOOK_UNAVAILABLE', retryAfter: 0 } }
        : { status: 307, headers: { location: `${webhook.url}/v1/credential?ticket=x` } },
    );
    expect(await someone(service.url).svault(['get', 'github'])).toMatchObject({ code: 0 });
    expect(service.received).toHaveLength(2);
  });

  test('ends at Ctrl-C', async () => {
    const { service } = await pairThatAnswers({ ...LATER, headers: { 'retry-after': '20' } });
    const stop = new AbortController();
    const running = someone(service.url).svault(['get', 'github'], { signal: stop.signal });
    const poll = setInterval(() => service.received.length > 0 && stop.abort(), 20);
    expect(await running).toMatchObject({ code: 130, out: '' });
    clearInterval(poll);
  });
});
