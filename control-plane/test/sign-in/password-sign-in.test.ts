import { describe, expect, test } from 'vitest';
import { type signInBy, clientOf, startService, BASE_URL } from '../support/management-service.ts';
import { serviceInTest, useService } from '../support/use-service.ts';
import { addMember, addMemberWithPassword, cookieOf, signInWithPassword } from '../support/members.ts';

const MINUTE_MS = 60_000;
const PASSWORD = 'correct horse battery staple';
const OTHER = 'another horse, another staple';

// Other tests reach the limit per address.
const service = useService({ SV_LIMIT_PASSWORD_LOGIN: '1000' });

const signIn = (email: string, password: string) => signInWithPassword(service, email, password);
const sessionOf = (cookie: string) => clientOf(service.running.url, { cookie, origin: BASE_URL });

describe('signing in with e-mail and password', () => {
  test('a sign-in by password opens a session with the method password', async () => {
    const { email } = await addMemberWithPassword(service, 'member', PASSWORD);
    const answer = await signIn(email.toUpperCase(), PASSWORD);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      email,
      role: 'member',
      isOwner: false,
      via: 'session',
      method: 'password',
    });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^svault=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/,
    );
    expect((await sessionOf(cookieOf(answer))('GET', '/api/me')).json).toEqual(answer.json);
    const [event] = (await service.admin('GET', '/api/audit?eventType=LOGIN&limit=1')).json.items;
    expect(event).toMatchObject({ outcome: 'success', detail: { method: 'password' } });
  });

  test('an unknown address, a user without a password and a wrong password get the same bytes', async () => {
    const { email } = await addMemberWithPassword(service, 'member', PASSWORD);
    const without = await addMember(service, 'member');
    const wrong = await signIn(email, OTHER);
    expect([wrong.status, wrong.json.code, wrong.headers.get('set-cookie')]).toEqual([
      401,
      'UNAUTHENTICATED',
      null,
    ]);
    for (const who of ['nobody@example.org', without.email, 'no address', `${email} `]) {
      const answer = await signIn(who, PASSWORD);
      expect([who, answer.status, answer.text]).toEqual([who, 401, wrong.text]);
    }
  });

  test.each([
    ['nothing', {}, ['email', 'password']],
    ['numbers', { email: 1, password: 2 }, ['email', 'password']],
    ['more than asked for', { email: 'a@b', password: 'x', totp: '1' }, ['totp']],
  ])('%s gets 422 without the password in the answer', async (_what, body, paths) => {
    const answer = await service.anyone('POST', '/api/login', { body });
    expect([answer.status, answer.json.issues.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      paths,
    ]);
    expect(answer.text).not.toContain('xxx');
  });
});

describe('setting a password', () => {
  const set = (
    session: Awaited<ReturnType<typeof signInBy>>,
    newPassword: string,
    currentPassword?: string,
  ) =>
    session('POST', '/api/me/password', {
      body: { newPassword, ...(currentPassword && { currentPassword }) },
    });

  test('a session by link sets a password without proof for ten minutes, and later with the current password', async () => {
    const { email, session } = await addMember(service, 'member');
    expect((await set(session, PASSWORD)).status).toBe(204);
    expect((await set(session, OTHER)).status).toBe(204);
    service.clock.advance(10 * MINUTE_MS);
    for (const wrong of [undefined, PASSWORD]) {
      const answer = await set(session, PASSWORD, wrong);
      expect([answer.status, answer.json.issues]).toEqual([
        422,
        [{ path: 'currentPassword', message: 'is wrong' }],
      ]);
    }
    expect((await set(session, PASSWORD, OTHER)).status).toBe(204);
    expect((await signIn(email, PASSWORD)).status).toBe(200);
  });

  test('a user without a password and with an old session by link needs a new link', async () => {
    const { session } = await addMember(service, 'member');
    service.clock.advance(10 * MINUTE_MS);
    const answer = await set(session, PASSWORD);
    expect([answer.status, answer.json.code]).toEqual([403, 'FORBIDDEN']);
  });

  test('a new password ends the other sessions and unused links of its user only', async () => {
    const { id, email, session } = await addMemberWithPassword(service, 'member', PASSWORD);
    const bystander = await addMember(service, 'member');
    const other = sessionOf(cookieOf(await signIn(email, PASSWORD)));
    const { url } = (await service.admin('POST', `/api/members/${id}/link`)).json;
    expect((await other('GET', '/api/me')).status).toBe(200);

    expect((await set(session, OTHER, PASSWORD)).status).toBe(204);
    expect((await other('GET', '/api/me')).status).toBe(401);
    expect((await session('GET', '/api/me')).status).toBe(200);
    expect((await bystander.session('GET', '/api/me')).status).toBe(200);
    const token = new URL(url).searchParams.get('token');
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
    expect((await signIn(email, PASSWORD)).status).toBe(401);
  });

  test('the event of a new password does not have the password', async () => {
    const { id } = await addMemberWithPassword(service, 'member', PASSWORD);
    const log = await service.admin('GET', '/api/audit?eventType=MEMBER_UPDATED&limit=1');
    expect(log.json.items[0]).toMatchObject({ userId: id, detail: { memberId: id, change: 'password' } });
    expect(log.text).not.toContain(PASSWORD);
  });

  test('an admin key cannot set a password', async () => {
    const answer = await service.admin('POST', '/api/me/password', { body: { newPassword: PASSWORD } });
    expect([answer.status, answer.json.code]).toEqual([403, 'FORBIDDEN']);
  });

  test('a password that breaks the rules is rejected, and is not in the answer', async () => {
    const { email, session } = await addMember(service, 'member');
    for (const password of ['eleven char', 'x'.repeat(200), email.toUpperCase()]) {
      const answer = await set(session, password);
      expect([answer.status, answer.json.issues[0].path]).toEqual([422, 'newPassword']);
      expect(answer.text).not.toContain(password);
    }
  });

  test('one of two concurrent changes with the same current password succeeds', async () => {
    const { email } = await addMemberWithPassword(service, 'member', PASSWORD);
    const sessions = await Promise.all(
      [1, 2].map(async () => sessionOf(cookieOf(await signIn(email, PASSWORD)))),
    );
    const answers = await Promise.all(
      sessions.map((session, index) => set(session, `${OTHER} ${index}`, PASSWORD)),
    );
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
  });
});

test('page and API share a limit of sign-ins per address', async () => {
  const own = await serviceInTest({ SV_LIMIT_PASSWORD_LOGIN: '3' });
  const guess = () => signInWithPassword(own, 'owner@example.org', PASSWORD);
  for (const _ of [1, 2]) expect((await guess()).status).toBe(401);
  const form = (email: string) =>
    own.anyone('POST', '/login', {
      rawBody: new URLSearchParams({ email, password: PASSWORD }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', origin: BASE_URL },
    });
  expect((await form('owner@example.org')).status).toBe(401);
  const refused = await guess();
  expect([refused.status, refused.json.code]).toEqual([429, 'RATE_LIMITED']);
  expect(refused.headers.get('retry-after')).toBe(String(refused.json.retryAfter));
  const page = await form('owner@example.org');
  expect([page.status, page.headers.get('content-type')]).toEqual([429, 'text/html; charset=utf-8']);
  expect(page.headers.get('retry-after')).toBe(refused.headers.get('retry-after'));
});

test('wrong passwords are one event a minute for an existing user, and none for an unknown address', async () => {
  const own = await startService();
  const { id, email, session } = await addMemberWithPassword(own, 'member', PASSWORD);
  for (const who of [email, 'nobody@example.org', email, email.toUpperCase()])
    expect((await signInWithPassword(own, who, OTHER)).status).toBe(401);
  const change = { currentPassword: OTHER, newPassword: OTHER };
  expect((await session('POST', '/api/me/password', { body: change })).status).toBe(422);
  own.clock.advance(MINUTE_MS);
  expect((await signInWithPassword(own, email, OTHER)).status).toBe(401);
  await own.running.close();
  const denied = await own.place.state.rows(
    "SELECT user_id, event_type, event_count FROM audit_events WHERE outcome = 'denied' ORDER BY seq",
  );
  const text = (await own.place.state.bytes()).toString('latin1');
  await own.place.remove();
  expect(denied).toEqual([
    { user_id: id, event_type: 'LOGIN', event_count: 4 },
    { user_id: id, event_type: 'LOGIN', event_count: 1 },
  ]);
  expect([text.includes(OTHER), text.includes('nobody@example.org')]).toEqual([false, false]);
});
