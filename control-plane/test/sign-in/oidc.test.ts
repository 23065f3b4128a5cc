import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type TestBrowser, browserOn } from '../support/browser.ts';
import {
  CALLBACK,
  CLIENT,
  OWNER,
  type TestProvider,
  beginAt,
  pathOf,
  settingsFor,
  startProvider,
} from '../support/identity-provider.ts';
import { type ManagementService, clientOf, signInBy, startService } from '../support/management-service.ts';
import { addMemberAt } from '../support/members.ts';
import { serviceInTest } from '../support/use-service.ts';

let provider: TestProvider;
let service: ManagementService;
let browser: TestBrowser;

beforeAll(async () => {
  provider = await startProvider();
  service = await startService(settingsFor(provider));
});
beforeEach(() => {
  browser = browserOn(service.running.url);
});
afterAll(async () => {
  await service.stop();
  await provider.stop();
});

/** Signs a person in. @returns the callback's answer */
async function signIn(sub: string, query = '', by = browser, at = provider) {
  at.signsIn = sub;
  return by.get(pathOf(await at.goThrough(await beginAt(by, query))));
}
const meOf = async (by = browser) => (await by.get('/api/me', { accept: 'application/json' })).json;
let subjects = 0;
const newSubject = () => `subject-${++subjects}`;

describe('signing in at the identity provider', () => {
  test('a sign-in requests a code with state, nonce, PKCE and the scope openid email', async () => {
    const url = new URL(await beginAt(browser));
    const { code_challenge: challenge, state, nonce, ...rest } = Object.fromEntries(url.searchParams);
    expect(rest).toEqual({
      client_id: CLIENT.id,
      redirect_uri: `http://127.0.0.1:8080${CALLBACK}`,
      response_type: 'code',
      scope: 'openid email',
      code_challenge_method: 'S256',
    });
    expect(challenge).toMatch(/^[A-Za-z0-9_-]{43}$/);
    for (const random of [state, nonce]) expect(random).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const again = new URL(await beginAt(browser));
    for (const name of ['state', 'nonce', 'code_challenge'])
      expect(again.searchParams.get(name)).not.toBe(url.searchParams.get(name));
  });

  // spec: Admin users: browser login through an identity provider.
  test('a sign-in opens a session of the user with the verified address, and returns to their page', async () => {
    provider.people.set('owner-sub', OWNER);
    const answer = await signIn('owner-sub', '?returnTo=%2Fvault%2Fwebhook-bind');
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/vault/webhook-bind']);
    expect(answer.headers.getSetCookie()).toEqual([
      'svault-oidc=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0',
      expect.stringMatching(/^svault=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/),
    ]);
    expect(await meOf()).toMatchObject({ ...{ email: OWNER.email }, isOwner: true, method: 'oidc' });
    const { items } = (await service.admin('GET', '/api/audit?limit=2')).json;
    expect(items).toMatchObject([
      { eventType: 'LOGIN', outcome: 'success', detail: { method: 'oidc' } },
      { eventType: 'MEMBER_UPDATED', detail: { change: 'identity' } },
    ]);
  });

  test('later sign-ins find the user by issuer and subject, not by address', async () => {
    const member = await addMemberAt(service, 'moving@example.org');
    provider.people.set('moving', { email: 'Moving@Example.org', email_verified: true });
    await signIn('moving');
    expect((await meOf()).id).toBe(member.id);
    for (const person of [
      { email: 'elsewhere@example.org', email_verified: true },
      { email: 'owner@example.org', email_verified: true },
      { email: 'moving@example.org', email_verified: false },
      {},
    ]) {
      provider.people.set('moving', person);
      const later = browserOn(service.running.url);
      await signIn('moving', '', later);
      expect((await meOf(later)).id).toBe(member.id);
    }
  });

  test('a new sign-in ends the session of the same browser only', async () => {
    provider.people.set('owner-sub', OWNER);
    const elsewhere = browserOn(service.running.url);
    await signIn('owner-sub', '', elsewhere);
    await signIn('owner-sub');
    const cookie = `svault=${browser.cookies.get('svault')}`;
    await signIn('owner-sub');
    const former = await clientOf(service.running.url, { cookie })('GET', '/api/me');
    expect([former.status, (await meOf()).isOwner, (await meOf(elsewhere)).isOwner]).toEqual([
      401,
      true,
      true,
    ]);
  });

  test('the address may come in the ID token', async () => {
    const inToken = await startProvider({ emailIn: 'idToken' });
    const own = await serviceInTest(settingsFor(inToken));
    onTestFinished(() => inToken.stop());
    const by = browserOn(own.running.url);
    inToken.people.set('a', OWNER);
    await signIn('a', '', by, inToken);
    expect(await meOf(by)).toMatchObject({ email: OWNER.email });
    expect(inToken.asked).not.toContain('/me');
  });

  test('a sign-in returns to paths of this service only', async () => {
    provider.people.set('owner-sub', OWNER);
    const answer = await signIn('owner-sub', '?returnTo=%2F%2Fevil.example');
    expect(answer.headers.get('location')).toBe('/');
  });

  test('the sign-in page links to the provider and has no form', async () => {
    const page = await browser.get('/login?returnTo=%2Flogin%2Fcli%3Frequest%3Dx');
    const link = /<a class="button" href="([^"]+)"/.exec(page.text)?.[1];
    expect(link).toBe('/api/login/oidc?returnTo=%2Flogin%2Fcli%3Frequest%3Dx');
    expect(page.text).not.toContain('<form');
  });
});

describe('an unknown person', () => {
  test.each([
    ['whose address nobody has', { email: 'nobody@example.org', email_verified: true }],
    ["whose address is the owner's, unverified", { email: 'owner@example.org', email_verified: false }],
    ['whose address is verified by a word', { email: 'owner@example.org', email_verified: 'true' }],
    ['whose address only looks like it', { email: 'owner@\u212Aexample.org', email_verified: true }],
    ['whose address has a NUL in it', { email: 'owner@example.org\0', email_verified: true }],
    ['whose address is a book', { email: `${'x'.repeat(10_000)}@example.org`, email_verified: true }],
  ])('%s gets an error page and no session', async (_what, person) => {
    const sub = newSubject();
    provider.people.set(sub, person);
    const answer = await signIn(sub);
    expect([answer.status, answer.headers.get('set-cookie')?.includes('svault=')]).toEqual([403, false]);
    expect(answer.text).toContain('NO_ACCOUNT');
    expect(answer.text).toContain('You are not signed in');
  });

  test('another identity with the address of a user does not sign in as that user', async () => {
    await addMemberAt(service, 'recycled@example.org');
    const person = { email: 'recycled@example.org', email_verified: true };
    const [first, second] = [newSubject(), newSubject()];
    for (const sub of [first, second]) provider.people.set(sub, person);
    expect((await signIn(first)).status).toBe(303);
    expect((await signIn(second)).status).toBe(403);
    expect((await signIn(first)).status).toBe(303);
  });

  test('a removed member is unknown until they are added again', async () => {
    const { id } = await addMemberAt(service, 'returning@example.org');
    const sub = newSubject();
    provider.people.set(sub, { email: 'returning@example.org', email_verified: true });
    expect((await signIn(sub)).status).toBe(303);
    await service.admin('DELETE', `/api/members/${id}`);
    expect((await browser.get('/api/me')).status).toBe(401);
    expect((await signIn(sub)).status).toBe(403);
    const again = await addMemberAt(service, 'returning@example.org');
    expect((await signIn(sub)).status).toBe(303);
    expect((await meOf()).id).toBe(again.id);
  });

  test('the placeholder address does not sign in as the owner', async () => {
    const own = await serviceInTest({
      ...settingsFor(provider),
      SV_BOOTSTRAP_EMAIL: '',
      SV_OIDC_SIGN_UP: 'on',
    });
    expect((await own.admin('GET', '/api/me')).json.email).toBe('owner@localhost');
    const sub = newSubject();
    provider.people.set(sub, { email: 'Owner@Localhost', email_verified: true });
    expect((await signIn(sub, '', browserOn(own.running.url))).status).toBe(403);
  });

  test('sign-up creates one account per person, and only with a verified address', async () => {
    const own = await serviceInTest({ ...settingsFor(provider), SV_OIDC_SIGN_UP: 'on' });
    const sub = newSubject();
    provider.people.set(sub, { email: 'Newcomer@example.org', email_verified: true });
    provider.signsIn = sub;
    const tabs = await Promise.all(
      [1, 2, 3].map(async () => {
        const by = browserOn(own.running.url);
        return { by, path: pathOf(await provider.goThrough(await beginAt(by))) };
      }),
    );
    const answers = await Promise.all(tabs.map(({ by, path }) => by.get(path)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303]);
    const people = await Promise.all(tabs.map(({ by }) => meOf(by)));
    expect(new Set(people.map(({ id }) => id)).size).toBe(1);
    const owner = (await own.admin('GET', '/api/me')).json;
    expect(people[0]).toMatchObject({ email: 'newcomer@example.org', role: 'admin', isOwner: true });
    expect(people[0].vaultId).not.toBe(owner.vaultId);
    const [tab] = tabs;
    expect((await tab!.by.get('/api/agents')).json.items).toEqual([]);

    const unverified = newSubject();
    provider.people.set(unverified, { email: 'unverified@example.org', email_verified: false });
    expect((await signIn(unverified, '', browserOn(own.running.url))).status).toBe(403);
  });
});

test('callbacks of this browser are limited per address, and foreign ones call no provider', async () => {
  const own = await serviceInTest({ ...settingsFor(provider), SV_LIMIT_OIDC_CALLBACK: '2' });
  provider.people.set('owner-sub', OWNER);
  provider.signsIn = 'owner-sub';
  const by = browserOn(own.running.url);
  for (let times = 0; times < 5; times++)
    expect((await by.get(`${CALLBACK}?code=x&state=y`)).status).toBe(400);
  for (const status of [303, 303, 429]) {
    const path = pathOf(await provider.goThrough(await beginAt(by)));
    provider.asked.length = 0;
    const answer = await by.get(path);
    expect(answer.status).toBe(status);
    expect(provider.asked.includes('/token')).toBe(status === 303);
  }
});

describe('with an identity provider', () => {
  test('there are no password routes and pages', async () => {
    const session = await signInBy(service, service.running.ownerLink ?? '');
    const answers = [
      await service.anyone('POST', '/api/login', { body: { email: OWNER.email, password: 'x' } }),
      await session('POST', '/api/me/password', { body: { newPassword: 'correct horse battery' } }),
      await session('GET', '/login/password'),
      await session('POST', '/login', {
        rawBody: 'email=a&password=b',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
  });

  test('the owner link works while the provider is unavailable', async () => {
    const other = await startProvider();
    const own = await startService(settingsFor(other));
    await other.stop();
    try {
      const session = await signInBy(own, own.running.ownerLink ?? '');
      expect((await session('GET', '/api/me')).json).toMatchObject({ isOwner: true, method: 'link' });
    } finally {
      await own.stop();
    }
  });

  test('a new member gets no sign-in link', async () => {
    const body = { email: 'linkless@example.org', role: 'member' };
    const { status, json } = await service.admin('POST', '/api/members', { body });
    expect([status, Object.keys(json)]).toEqual([201, ['member']]);
    expect((await service.admin('POST', `/api/members/${json.member.id}/link`)).status).toBe(404);
  });
});

test('without an identity provider its routes do not exist', async () => {
  const own = await serviceInTest();
  for (const path of ['/api/login/oidc', CALLBACK]) {
    const answer = await clientOf(own.running.url)('GET', path);
    expect([path, answer.status, answer.json.code]).toEqual([path, 404, 'NOT_FOUND']);
  }
});
