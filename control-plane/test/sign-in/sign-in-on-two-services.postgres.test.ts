import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserOn } from '../support/browser.ts';
import {
  type CliGrant,
  bearer,
  beginLogin,
  cliSession,
  codeIn,
  decide,
  exchange,
  refresh,
} from '../support/cli-client.ts';
import {
  OWNER,
  type TestProvider,
  beginAt,
  pathOf,
  settingsFor,
  startProvider,
} from '../support/identity-provider.ts';
import {
  BASE_URL,
  type Call,
  type ManagementService,
  clientOf,
  makePlace,
  serveOn,
} from '../support/management-service.ts';
import { addMember, addMemberWithPassword, cookieOf, signInWithPassword } from '../support/members.ts';

/* What lets people in, with two services over one database: each step may go to either, and an end holds at both. */

const PASSWORD = 'correct horse battery staple';

let one: ManagementService;
let other: ManagementService;
beforeAll(async () => {
  const place = await makePlace({ SV_LIMIT_PASSWORD_LOGIN: '1000' });
  one = await serveOn(place);
  other = await serveOn(place);
});
afterAll(async () => {
  await other?.running.close();
  await one?.stop();
});

const statusOf = async (call: Call): Promise<number> => (await call('GET', '/api/me')).status;
const sessionAt = (service: ManagementService, cookie: string): Call =>
  clientOf(service.running.url, { cookie, origin: BASE_URL });

describe('the credentials of a user', () => {
  /** An admin with one of each, created at the first service and tried at the second. */
  async function withEverything() {
    const { id, email } = await addMemberWithPassword(one, 'admin', PASSWORD);
    const cookie = cookieOf(await signInWithPassword(one, email, PASSWORD));
    const { key } = (await sessionAt(one, cookie)('POST', '/api/admin-keys', { body: { name: 'k' } })).json;
    const browser = browserOn(other.running.url);
    browser.cookies.set('svault', cookie.slice('svault='.length));
    const login = await beginLogin(one);
    const code = codeIn(await decide(browser, login));
    const cli = (await exchange(one, { code, codeVerifier: login.codeVerifier })).json as CliGrant;
    const { url } = (await one.admin('POST', `/api/members/${id}/link`)).json;
    const token = new URL(url).searchParams.get('token');
    return {
      id,
      session: sessionAt(other, cookie),
      program: clientOf(other.running.url, { authorization: `Bearer ${key}` }),
      command: bearer(other, cli.accessToken),
      refreshed: async () => (await refresh(other, cli.refreshToken)).status,
      byPassword: async () => (await signInWithPassword(other, email, PASSWORD)).status,
      byLink: async () => (await other.anyone('POST', '/api/login/link', { body: { token } })).status,
    };
  }

  test('removing a member ends their credentials at both processes', async () => {
    const they = await withEverything();
    const callers = [they.session, they.program, they.command];
    expect(await Promise.all(callers.map(statusOf))).toEqual([200, 200, 200]);
    expect((await one.admin('DELETE', `/api/members/${they.id}`)).status).toBe(204);
    expect(await Promise.all(callers.map(statusOf))).toEqual([401, 401, 401]);
    expect([await they.refreshed(), await they.byPassword(), await they.byLink()]).toEqual([401, 401, 401]);
  });

  test('a change of role holds at both processes', async () => {
    const they = await withEverything();
    await one.admin('PATCH', `/api/members/${they.id}`, { body: { role: 'member' } });
    const members = async (call: Call) => (await call('GET', '/api/members')).status;
    expect(await Promise.all([they.session, they.command, they.program].map(members))).toEqual([
      403, 403, 401,
    ]);
  });
});

describe('single-use credentials', () => {
  test('a sign-in link works at one of two processes', async () => {
    const { id } = await addMember(one, 'member');
    const { url } = (await one.admin('POST', `/api/members/${id}/link`)).json;
    const body = { token: new URL(url).searchParams.get('token') };
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? one : other).anyone('POST', '/api/login/link', { body })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('concurrent refreshes at two processes get one pair', async () => {
    const { refreshToken } = await cliSession(one);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) => refresh(n % 2 ? one : other, refreshToken)),
    );
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.refreshToken}`)).size).toBe(1);
  });
});

describe('at an identity provider', () => {
  let provider: TestProvider;
  let first: ManagementService;
  let second: ManagementService;
  beforeAll(async () => {
    provider = await startProvider();
    provider.people.set('owner-sub', OWNER);
    provider.signsIn = 'owner-sub';
    const place = await makePlace(settingsFor(provider));
    first = await serveOn(place);
    second = await serveOn(place);
  });
  afterAll(async () => {
    await second?.running.close();
    await first?.stop();
    await provider?.stop();
  });

  test('a sign-in may begin at one process and end at the other, and concurrent first sign-ins bind one identity', async () => {
    const tabs = await Promise.all(
      [1, 2, 3, 4].map(async (n) => {
        const leaving = browserOn((n % 2 ? first : second).running.url);
        const path = pathOf(await provider.goThrough(await beginAt(leaving)));
        const coming = browserOn((n % 2 ? second : first).running.url);
        for (const [name, value] of leaving.cookies) coming.cookies.set(name, value);
        return { coming, path };
      }),
    );
    const answers = await Promise.all(tabs.map(({ coming, path }) => coming.get(path)));
    expect(answers.map(({ status }) => status)).toEqual([303, 303, 303, 303]);
    const bound = (await first.admin('GET', '/api/audit?eventType=MEMBER_UPDATED')).json.items;
    expect(bound).toHaveLength(1);
  });
});
