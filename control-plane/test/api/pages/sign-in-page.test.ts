import { createHash } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestBrowser, browserOn, fieldsOf } from '../../support/browser.ts';
import { BASE_URL, clientOf } from '../../support/management-service.ts';
import { useService } from '../../support/use-service.ts';
import { type TestMember, addMember, addMemberWithPassword } from '../../support/members.ts';

const PASSWORD = 'correct horse battery staple';

const service = useService({ SV_LIMIT_PASSWORD_LOGIN: '1000' });
let person: TestMember;
let browser: TestBrowser;

beforeAll(async () => {
  person = await addMemberWithPassword(service, 'member', PASSWORD);
});
beforeEach(() => {
  browser = browserOn(service.running.url);
});

const submit = (fields: Record<string, string> = {}) =>
  browser.submit('/login', { email: person.email, password: PASSWORD, ...fields });
const headingOf = ({ text }: { readonly text: string }) => /<h1>([^<]*)<\/h1>/.exec(text)?.[1];

describe('the sign-in page', () => {
  test('the sign-in page has a form for password managers, its one script and no frame', async () => {
    const page = await browser.get('/login');
    expect([page.status, headingOf(page)]).toEqual([200, 'Sign in']);
    expect(page.text).toMatch(/<input id="email" name="email" type="email" autocomplete="username"/);
    expect(page.text).toMatch(/type="password" autocomplete="current-password"/);
    expect(page.text).toContain('<label for="email">');
    const scripts = [...page.text.matchAll(/<script>([^]*?)<\/script>/g)].map(([, script = '']) => script);
    const hash = createHash('sha256').update(scripts.join()).digest('base64');
    const policy = page.headers.get('content-security-policy') ?? '';
    expect([scripts.length, policy.split(';').at(-1)]).toEqual([1, `script-src 'sha256-${hash}'`]);
    for (const part of [
      "default-src 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ])
      expect(policy).toContain(part);
    expect(page.headers.get('cache-control')).toBe('no-store');
    expect(page.headers.get('referrer-policy')).toBe('no-referrer');
  });

  test('the root path redirects to the sign-in page, which leads back to it', async () => {
    const answer = await browser.get('/');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/login?returnTo=%2F']);
  });

  test('signing in returns to the page that asked for it', async () => {
    const path = '/login/cli?request=clr_x&a=%22';
    const page = await browser.get(`/login?${new URLSearchParams({ returnTo: path }).toString()}`);
    expect(fieldsOf(page.text)).toEqual({ returnTo: path });
    const answer = await submit(fieldsOf(page.text));
    expect([answer.status, answer.headers.get('location')]).toEqual([303, path]);
    expect(headingOf(await browser.get('/login'))).toBe('You are signed in');
    const again = await browser.get(`/login?${new URLSearchParams({ returnTo: path }).toString()}`);
    expect(again.headers.get('location')).toBe(path);
  });

  test('a wrong password keeps the address and the return path in the form', async () => {
    const page = await submit({ password: 'wrong <b>&"', returnTo: '/vault/webhook-bind' });
    expect(page.status).toBe(401);
    expect(page.text).toContain('role="alert">E-mail or password is wrong.');
    expect(page.text).toContain(`value="${person.email}"`);
    expect(page.text).not.toContain('wrong &lt;b');
    expect(fieldsOf(page.text)).toEqual({ returnTo: '/vault/webhook-bind' });
    expect(browser.cookies.size).toBe(0);
  });

  test('a return path to another site is ignored', async () => {
    const returnTo = '//evil.example';
    const page = await browser.get(`/login?${new URLSearchParams({ returnTo }).toString()}`);
    expect(fieldsOf(page.text)).toEqual({});
    expect((await submit({ returnTo })).headers.get('location')).toBe('/');
  });

  test('the sign-in page shows input as text', async () => {
    const page = await submit({ email: '"><script>alert(1)</script>', password: 'x' });
    expect(page.text).not.toContain('<script>alert');
    expect(page.text).toContain('&quot;&gt;&lt;script&gt;');
  });

  test('a form of another site signs nobody in', async () => {
    const body = new URLSearchParams({ email: person.email, password: PASSWORD }).toString();
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
    ]) {
      const answer = await clientOf(service.running.url)('POST', '/login', {
        rawBody: body,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...(headers as object) },
      });
      expect([headers, answer.status, answer.headers.get('set-cookie')]).toEqual([headers, 403, null]);
    }
  });

  test('signing out deletes the cookie and the session', async () => {
    await submit();
    const cookie = `svault=${browser.cookies.get('svault')}`;
    const answer = await browser.submit('/login/out', {});
    expect([answer.status, answer.headers.get('location'), browser.cookies.has('svault')]).toEqual([
      303,
      '/login',
      false,
    ]);
    expect((await clientOf(service.running.url, { cookie })('GET', '/api/me')).status).toBe(401);
    const events = () => service.admin('GET', '/api/audit?eventType=SESSION_REVOKED&limit=1');
    const told = (await events()).json.items;
    expect(told).toMatchObject([
      { outcome: 'success', detail: { sessionId: expect.stringMatching(/^ses_/) } },
    ]);
    expect((await browser.submit('/login/out', {})).status).toBe(303);
    expect((await events()).json.items).toEqual(told);
  });

  test('signing in again, by page or API, ends the previous session of the browser', async () => {
    const cookieNow = () => ({ cookie: `svault=${browser.cookies.get('svault')}` });
    const status = async (headers: Record<string, string>) =>
      (await clientOf(service.running.url, headers)('GET', '/api/me')).status;
    await submit();
    const first = cookieNow();
    await submit({ password: 'not the password' });
    expect(await status(first)).toBe(200);
    await submit();
    const second = cookieNow();
    expect([await status(first), await status(second)]).toEqual([401, 200]);
    const body = { email: person.email, password: PASSWORD };
    const again = await service.anyone('POST', '/api/login', { body, headers: second });
    expect([again.status, await status(second)]).toEqual([200, 401]);
  });

  test('the sign-in page answers 405 to other methods', async () => {
    for (const [method, path, allow] of [
      ['DELETE', '/login', 'GET, HEAD, POST'],
      ['GET', '/login/out', 'POST'],
      ['PUT', '/login/password', 'GET, HEAD, POST'],
    ] as const) {
      const answer = await service.anyone(method, path);
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow]);
    }
  });
});

describe('the password page', () => {
  /** A user who has just signed in by link in this browser. */
  const newMember = async () => {
    const { id, email } = await addMember(service, 'member');
    const { url } = (await service.admin('POST', `/api/members/${id}/link`)).json;
    const token = new URL(url).searchParams.get('token') ?? '';
    const offer = await browser.get(`/login/link?token=${token}`);
    return { id, email, offer, signedIn: await browser.submit('/login/link', { token, next: 'password' }) };
  };

  test('a sign-in by link offers the password page to who has no password, and it takes the password twice', async () => {
    const { id, email, offer, signedIn } = await newMember();
    expect(offer.text).toContain('name="next" value="password"');
    expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, '/login/password']);
    const page = await browser.get('/login/password');
    expect([headingOf(page), page.text.includes('name="currentPassword"')]).toEqual([
      'Set your password',
      false,
    ]);
    // What the password manager keeps it for, and the rule, come before the field.
    expect(page.text).toMatch(
      new RegExp(`12 to 128 characters[^]*autocomplete="username" value="${email}"[^]*id="new"`),
    );
    expect(page.text.match(/autocomplete="new-password"/g)).toHaveLength(2);
    const differing = await browser.submit('/login/password', {
      newPassword: PASSWORD,
      repeated: `${PASSWORD}!`,
    });
    expect([differing.status, differing.text]).toEqual([422, expect.stringContaining('differ')]);
    const short = await browser.submit('/login/password', { newPassword: 'short', repeated: 'short' });
    expect([short.status, short.text]).toEqual([
      422,
      expect.stringContaining('The new password must have 12 to 128'),
    ]);
    const set = await browser.submit('/login/password', { newPassword: PASSWORD, repeated: PASSWORD });
    expect([set.status, headingOf(set)]).toEqual([200, 'Your password is set']);
    expect((await service.anyone('POST', '/api/login', { body: { email, password: PASSWORD } })).status).toBe(
      200,
    );
    const { url } = (await service.admin('POST', `/api/members/${id}/link`)).json;
    expect((await browser.get(new URL(url).pathname + new URL(url).search)).text).not.toContain(
      'name="next"',
    );
  });

  test('a session by password has to enter the current password', async () => {
    const { email } = await addMemberWithPassword(service, 'member', PASSWORD);
    await submit({ email });
    expect((await browser.get('/login/password')).text).toContain('name="currentPassword"');
    const next = { newPassword: `${PASSWORD}!`, repeated: `${PASSWORD}!` };
    const wrong = await browser.submit('/login/password', { currentPassword: 'x', ...next });
    expect([wrong.status, wrong.text]).toEqual([
      422,
      expect.stringContaining('The current password is wrong'),
    ]);
    expect((await browser.submit('/login/password', next)).status).toBe(422);
    expect((await browser.submit('/login/password', { currentPassword: PASSWORD, ...next })).status).toBe(
      200,
    );
  });

  test('the password page leads to the sign-in without a session', async () => {
    expect((await browser.visit('/login/password')).path).toBe('/login?returnTo=%2Flogin%2Fpassword');
    const form = await browser.submit('/login/password', { newPassword: PASSWORD, repeated: PASSWORD });
    expect(form.headers.get('location')).toBe('/login?returnTo=%2Flogin%2Fpassword');
  });

  test('a form of another site changes no password, nor does one while the vault is locked', async () => {
    await newMember();
    const cookie = `svault=${browser.cookies.get('svault')}`;
    const forged = await clientOf(service.running.url, { cookie, origin: 'https://evil.example' })(
      'POST',
      '/login/password',
      {
        rawBody: new URLSearchParams({ newPassword: PASSWORD, repeated: PASSWORD }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      },
    );
    expect(forged.status).toBe(403);
    await service.admin('POST', '/api/vault/lock');
    try {
      const locked = await browser.submit('/login/password', { newPassword: PASSWORD, repeated: PASSWORD });
      expect(locked.status).toBe(423);
    } finally {
      await service.admin('POST', '/api/vault/unlock');
    }
    expect(
      (await browser.submit('/login/password', { newPassword: PASSWORD, repeated: PASSWORD })).status,
    ).toBe(200);
  });
});

test('a repeated form field and a body that is no form are rejected', async () => {
  const post = (rawBody: string, type: string) =>
    service.anyone('POST', '/login', { rawBody, headers: { 'content-type': type, origin: BASE_URL } });
  expect((await post('email=a&email=b&password=c', 'application/x-www-form-urlencoded')).status).toBe(400);
  expect((await post('{}', 'application/json')).status).toBe(415);
  expect((await post(`email=${'x'.repeat(20_000)}`, 'application/x-www-form-urlencoded')).status).toBe(413);
});

describe('an error', () => {
  const HTML = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
  const get = (path: string, headers: Record<string, string> = {}) =>
    service.anyone('GET', path, { headers });

  test('an unknown address is a page for a browser and JSON for programs, with the same status', async () => {
    const page = await get('/no/such/page', HTML);
    expect([page.status, headingOf(page)]).toEqual([404, 'There is no page here']);
    expect(page.text).toContain('<a href="/login">');
    expect(page.text).not.toContain('such/page');
    const policy = page.headers.get('content-security-policy') ?? '';
    for (const part of ["default-src 'none'", 'style-src', "frame-ancestors 'none'"])
      expect(policy).toContain(part);
    expect(policy).not.toContain('script-src');
    expect(page.headers.get('cache-control')).toBe('no-store');
    for (const headers of [{}, { accept: '*/*' }, { accept: 'application/json' }]) {
      const answer = await get('/no/such/page', headers);
      expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);
    }
  });

  test('the API answers programs with JSON, whatever they accept', async () => {
    for (const [path, status] of [
      ['/api/no-such-route', 404],
      ['/api/me', 401],
      ['/.well-known/no-such-document', 404],
    ] as const) {
      const answer = await get(path, HTML);
      expect([path, answer.status, answer.json.error]).toEqual([path, status, expect.any(String)]);
    }
  });

  test('a method that a page does not take is a page too', async () => {
    const page = await get('/login/out', HTML);
    expect([page.status, page.headers.get('allow'), headingOf(page)]).toEqual([
      405,
      'POST',
      'This did not work',
    ]);
  });
});
