import { newKey } from '@svault/shared';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Call,
  type ManagementService,
  clientOf,
  makePlace,
  serveOn,
  signInBy,
} from '../support/management-service.ts';
import { addMember } from '../support/members.ts';

/** Two accounts on one service; stranger@example.org owns the second. */
let service: ManagementService;
let ownerId: string;

beforeAll(async () => {
  const place = await makePlace();
  const first = await serveOn(place);
  await first.running.close();
  const other = { SV_BOOTSTRAP_EMAIL: 'stranger@example.org', SV_BOOTSTRAP_ADMIN_KEY: newKey('svadmin') };
  service = await serveOn({ ...place, env: { ...place.env, ...other } });
  ownerId = (await service.admin('GET', '/api/me')).json.id;
});
afterAll(() => service.stop());

const lastEvents = async (count: number) =>
  (await service.admin('GET', `/api/audit?limit=${count}`)).json.items;
const statusOf = async (call: Call, path = '/api/me') => (await call('GET', path)).status;

describe('POST /api/members', () => {
  test('adding a member returns a link that signs them in once, within a day', async () => {
    const body = { email: 'New.Person@Example.org', role: 'member' };
    const { status, json } = await service.admin('POST', '/api/members', { body });
    expect(status).toBe(201);
    expect(json).toEqual({
      member: {
        id: expect.stringMatching(/^usr_/),
        email: 'new.person@example.org',
        role: 'member',
        isOwner: false,
        createdAt: '2026-11-20T12:00:00.000Z',
      },
      link: { url: expect.stringContaining('/login/link?token='), expiresAt: '2026-11-21T12:00:00.000Z' },
    });
    const session = await signInBy(service, json.link.url);
    expect((await session('GET', '/api/me')).json).toMatchObject({
      email: 'new.person@example.org',
      role: 'member',
      method: 'link',
    });
    const token = new URL(json.link.url).searchParams.get('token');
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
    const logged = await service.admin('GET', '/api/audit?eventType=MEMBER_CREATED&limit=1');
    const detail = { memberId: json.member.id, role: 'member' };
    expect(logged.json.items[0]).toMatchObject({ userId: ownerId, detail });
    expect(logged.text).not.toContain('new.person@example.org');
    expect(logged.text).not.toContain(token);
  });

  test('an address in use gets the same CONFLICT, whichever account uses it', async () => {
    await addMember(service, 'member', 'taken@example.org');
    const add = (email: string) => service.admin('POST', '/api/members', { body: { email, role: 'member' } });
    const here = await add('TAKEN@example.org');
    const elsewhere = await add('stranger@example.org');
    expect([here.status, here.json.code]).toEqual([409, 'CONFLICT']);
    expect([elsewhere.status, elsewhere.text]).toEqual([409, here.text]);
    // The address of an owner whom the operator has not named yet; another holder would get the account.
    expect((await add('Owner@localhost')).text).toBe(here.text);
  });

  test.each([
    [{ email: 'nobody', role: 'member' }, 'email'],
    [{ email: 'a b@example.org', role: 'member' }, 'email'],
    [{ email: 'a\u200B@example.org', role: 'member' }, 'email'],
    [{ email: `${'a'.repeat(250)}@example.org`, role: 'member' }, 'email'],
    [{ email: 'a@example.org', role: 'owner' }, 'role'],
    [{ email: 'a@example.org' }, 'role'],
    [{ email: 'a@example.org', role: 'admin', isOwner: true }, 'isOwner'],
  ])('the member %j gets 422 at %s', async (body, path) => {
    const answer = await service.admin('POST', '/api/members', { body });
    expect([answer.status, answer.json.issues[0].path]).toEqual([422, path]);
  });

  test('a new link voids the previous one, and the owner gets none', async () => {
    const body = { email: 'linked@example.org', role: 'member' };
    const { member, link } = (await service.admin('POST', '/api/members', { body })).json;
    const again = await service.admin('POST', `/api/members/${member.id}/link`);
    expect([again.status, Object.keys(again.json)]).toEqual([201, ['url', 'expiresAt']]);
    const post = (url: string) =>
      service.anyone('POST', '/api/login/link', { body: { token: new URL(url).searchParams.get('token') } });
    expect((await post(link.url)).status).toBe(401);
    expect((await post(again.json.url)).status).toBe(200);
    const owner = await service.admin('POST', `/api/members/${ownerId}/link`);
    expect([owner.status, owner.json.code]).toEqual([409, 'CONFLICT']);
  });
});

describe('a change of role', () => {
  test('another role holds from the next request of every session, and revokes admin keys', async () => {
    const { id, session } = await addMember(service, 'admin');
    const { key, adminKey } = (await session('POST', '/api/admin-keys', { body: { name: 'mine' } })).json;
    const program = clientOf(service.running.url, { authorization: `Bearer ${key}` });
    expect([await statusOf(session, '/api/members'), await statusOf(program)]).toEqual([200, 200]);

    const changed = await service.admin('PATCH', `/api/members/${id}`, { body: { role: 'member' } });
    expect([changed.status, changed.json.role]).toEqual([200, 'member']);
    expect([await statusOf(session, '/api/members'), await statusOf(session)]).toEqual([403, 200]);
    expect(await statusOf(program)).toBe(401);
    expect(await lastEvents(2)).toMatchObject([
      { eventType: 'MEMBER_UPDATED', detail: { memberId: id, role: 'member' } },
      { eventType: 'ADMIN_KEY_DELETED', detail: { adminKeyId: adminKey.id } },
    ]);

    await service.admin('PATCH', `/api/members/${id}`, { body: { role: 'admin' } });
    expect([await statusOf(session, '/api/members'), await statusOf(program)]).toEqual([200, 401]);
  });

  test('setting the same role logs nothing', async () => {
    const { id } = await addMember(service, 'member');
    const before = await lastEvents(1);
    const body = { role: 'member' };
    expect((await service.admin('PATCH', `/api/members/${id}`, { body })).json.role).toBe('member');
    expect(await lastEvents(1)).toEqual(before);
  });
});

describe('removing a member', () => {
  test('removing a member ends their sessions, links, password and admin keys at once; what they created stays, and their address is free', async () => {
    const { id, email, session } = await addMember(service, 'admin');
    const newPassword = 'correct horse battery staple';
    await session('POST', '/api/me/password', { body: { newPassword } });
    const { key } = (await session('POST', '/api/admin-keys', { body: { name: 'mine' } })).json;
    const { agent } = (await session('POST', '/api/agents', { body: { name: 'theirs' } })).json;
    const { url } = (await service.admin('POST', `/api/members/${id}/link`)).json;
    const program = clientOf(service.running.url, { authorization: `Bearer ${key}` });

    expect((await service.admin('DELETE', `/api/members/${id}`)).status).toBe(204);
    expect([await statusOf(session), await statusOf(program)]).toEqual([401, 401]);
    const token = new URL(url).searchParams.get('token');
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
    const signIn = await service.anyone('POST', '/api/login', { body: { email, password: newPassword } });
    expect(signIn.status).toBe(401);
    expect((await service.admin('GET', `/api/agents/${agent.id}`)).json).toMatchObject({
      status: 'active',
      ownerId: id,
    });
    expect((await service.admin('GET', '/api/audit?limit=1')).json.items[0]).toMatchObject({
      eventType: 'MEMBER_DELETED',
      userId: ownerId,
      detail: { memberId: id },
    });
    for (const method of ['DELETE', 'PATCH'])
      expect(
        (await service.admin(method, `/api/members/${id}`, { body: method === 'PATCH' ? {} : undefined }))
          .status,
      ).toBe(404);

    const again = await addMember(service, 'member', email);
    expect(again.id).not.toBe(id);
    expect(
      (await service.anyone('POST', '/api/login', { body: { email, password: newPassword } })).status,
    ).toBe(401);
  });

  test('a member who is removed while they sign in gets no session', async () => {
    for (let round = 0; round < 10; round++) {
      const body = { email: `racing-${round}@example.org`, role: 'member' };
      const { member, link } = (await service.admin('POST', '/api/members', { body })).json;
      const [session] = await Promise.all([
        signInBy(service, link.url),
        service.admin('DELETE', `/api/members/${member.id}`),
      ]);
      expect(await statusOf(session)).toBe(401);
    }
  });

  test('an admin can remove themselves from the account', async () => {
    const { id, session } = await addMember(service, 'admin');
    expect((await session('DELETE', `/api/members/${id}`)).status).toBe(204);
    expect(await statusOf(session)).toBe(401);
  });
});

describe('the owner', () => {
  test('nobody can remove the owner or change their role, so an account always has an admin', async () => {
    const { session } = await addMember(service, 'admin');
    for (const call of [service.admin, session]) {
      const demoted = await call('PATCH', `/api/members/${ownerId}`, { body: { role: 'member' } });
      const removed = await call('DELETE', `/api/members/${ownerId}`);
      for (const answer of [demoted, removed])
        expect([answer.status, answer.json.code]).toEqual([409, 'CONFLICT']);
    }
    expect((await service.admin('GET', '/api/me')).json).toMatchObject({ role: 'admin', isOwner: true });
  });
});

test('a start whose SV_BOOTSTRAP_EMAIL names a member fails', async () => {
  const place = await makePlace();
  const first = await serveOn(place);
  await addMember(first, 'admin', 'not-an-owner@example.org');
  await first.running.close();
  const env = { ...place.env, SV_BOOTSTRAP_EMAIL: 'not-an-owner@example.org' };
  await expect(serveOn({ ...place, env })).rejects.toThrow('owns none');
  await place.remove();
});
