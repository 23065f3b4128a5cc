import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { makeOwnerLink } from '../support/beside-the-service.ts';
import {
  BASE_URL,
  clientOf,
  makePlace,
  serveOn,
  signInBy,
  startService,
} from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

const service = useService();

/** As the subcommand makes one: a first start prints one, and only that. */
const freshLink = (): Promise<string> => makeOwnerLink(service);
const freshToken = async (): Promise<string> => new URL(await freshLink()).searchParams.get('token') ?? '';

describe('the owner link', () => {
  test('opening the owner link consumes nothing, and posting its token works once', async () => {
    expect(service.running.ownerLink?.startsWith(`${BASE_URL}/login/link?token=`)).toBe(true);
    const token = await freshToken();
    for (const _ of [1, 2]) {
      const page = await service.anyone('GET', `/login/link?token=${token}`);
      expect(page.status).toBe(200);
      expect(page.text).toContain('<button type="submit">Sign in</button>');
      expect(page.text).toMatch(/signs you in as <strong[^>]*><bdi>owner@example\.org</);
      expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    }
    const first = await service.anyone('POST', '/api/login/link', { body: { token } });
    expect(first.status).toBe(200);
    expect(first.headers.get('set-cookie')).toMatch(
      /^svault=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/,
    );
    expect(first.json).toMatchObject({
      email: 'owner@example.org',
      role: 'admin',
      isOwner: true,
      via: 'session',
    });
    const second = await service.anyone('POST', '/api/login/link', { body: { token } });
    expect([second.status, second.json.code]).toEqual([401, 'UNAUTHENTICATED']);
    expect(second.headers.get('set-cookie')).toBeNull();
    expect((await service.anyone('GET', `/login/link?token=${token}`)).status).toBe(401);
  });

  test('twenty concurrent posts of a link open one session', async () => {
    const token = await freshToken();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => service.anyone('POST', '/api/login/link', { body: { token } })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test('an owner link expires', async () => {
    const token = await freshToken();
    service.clock.advance(30 * MINUTE_MS);
    expect((await service.anyone('GET', `/login/link?token=${token}`)).status).toBe(401);
    expect((await service.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
  });

  test("the page's form signs in with the Origin of a page without referrer", async () => {
    const token = await freshToken();
    const post = (headers: Record<string, string>) =>
      service.anyone('POST', '/login/link', {
        rawBody: new URLSearchParams({ token }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      });
    const page = await post({ origin: 'null', 'sec-fetch-site': 'same-origin' });
    const [cookie = ''] = page.headers.get('set-cookie')?.split(';') ?? [];
    const me = await service.anyone('GET', '/api/me', { headers: { cookie } });
    expect(me.json).toMatchObject({ email: 'owner@example.org', via: 'session' });
  });

  test('a second start makes no link and no second account of the owner', async () => {
    const place = await makePlace();
    const first = await serveOn(place);
    const before = (await first.admin('GET', '/api/me')).json;
    await first.running.close();
    const second = await serveOn(place);
    onTestFinished(() => second.stop());
    expect(second.running.ownerLink).toBeUndefined();
    expect((await second.admin('GET', '/api/me')).json).toEqual(before);
    expect((await second.admin('GET', '/api/admin-keys')).json.items).toHaveLength(1);
  });

  test('a first start that fails, since its port is taken, leaves the link to the next one', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    onTestFinished(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const place = await makePlace({}, { empty: true });
    const onTakenPort = { ...place, env: { ...place.env, SV_LISTEN: `127.0.0.1:${port}` } };
    await expect(serveOn(onTakenPort)).rejects.toThrow('is taken by another program');
    const own = await serveOn(place);
    onTestFinished(() => own.stop());
    const token = new URL(own.running.ownerLink ?? '').searchParams.get('token');
    expect((await own.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(200);
  });
});

describe('the session cookie', () => {
  test('over https the cookie is __Host-svault and Secure', async () => {
    const own = await startService({ SV_BASE_URL: 'https://svault.example' });
    const token = new URL(own.running.ownerLink ?? '').searchParams.get('token');
    onTestFinished(() => own.stop());
    const answer = await own.anyone('POST', '/api/login/link', { body: { token } });
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-svault=[A-Za-z0-9_-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=604800$/,
    );
  });

  test('an Authorization header replaces the cookie, and reading needs no Origin', async () => {
    const session = await signInBy(service, await freshLink());
    expect((await session('GET', '/api/me', { headers: { origin: '' } })).status).toBe(200);
    const wrong = { authorization: 'Bearer svadmin_wrong' };
    expect((await session('GET', '/api/me', { headers: wrong })).status).toBe(401);
  });

  test('a session expires after 8 idle hours, and after 7 days', async () => {
    const session = await signInBy(service, await freshLink());
    const status = async () => (await session('GET', '/api/me')).status;
    for (let hours = 0; hours < 7 * 24 - 6; hours += 6) {
      service.clock.advance(6 * HOUR_MS);
      expect(await status()).toBe(200);
    }
    service.clock.advance(6 * HOUR_MS);
    expect(await status()).toBe(401);
    const idle = await signInBy(service, await freshLink());
    service.clock.advance(8 * HOUR_MS);
    expect((await idle('GET', '/api/me')).status).toBe(401);
  });

  test('signing out ends the session on the server', async () => {
    const session = await signInBy(service, await freshLink());
    const out = await session('POST', '/api/logout');
    expect(out.status).toBe(204);
    expect(out.headers.get('set-cookie')).toMatch(/^svault=; .*Max-Age=0$/);
    expect((await session('GET', '/api/me')).status).toBe(401);
  });

  test('sessions are listed and ended one by one', async () => {
    const session = await signInBy(service, await freshLink());
    const list = await session('GET', '/api/sessions');
    const item = list.json.items.find(({ current }: { current: boolean }) => current);
    expect(item).toMatchObject({ kind: 'console', current: true });
    expect(Object.keys(item).sort()).toEqual(
      ['id', 'kind', 'userId', 'email', 'client', 'current', 'createdAt', 'lastUsedAt', 'expiresAt'].sort(),
    );
    expect((await service.admin('DELETE', `/api/sessions/${item.id}`)).status).toBe(204);
    expect((await service.admin('DELETE', `/api/sessions/${item.id}`)).status).toBe(404);
    expect((await session('GET', '/api/me')).status).toBe(401);
  });

  test('the list of sessions strips control characters from a user agent', async () => {
    const headers = { 'user-agent': `${'x'.repeat(150)}\u009b2J\u00ad\u0085y${'z'.repeat(100)}` };
    await service.anyone('POST', '/api/login/link', { body: { token: await freshToken() }, headers });
    const { items } = (await service.admin('GET', '/api/sessions?limit=100')).json;
    const clients = items.map(({ client }: { client: string }) => client);
    expect(clients).toContain(`${'x'.repeat(150)}2Jy${'z'.repeat(47)}`);
  });
});

describe('admin keys', () => {
  test('an admin key is in the answer of its creation only, works, and ends when it is deleted', async () => {
    const made = await service.admin('POST', '/api/admin-keys', { body: { name: 'ci' } });
    expect(made.status).toBe(201);
    const { key, adminKey } = made.json;
    expect(key).toMatch(/^svadmin_[A-Za-z0-9_-]{43}$/);
    const bearer = clientOf(service.running.url, { authorization: `Bearer ${key}` });
    expect((await bearer('GET', '/api/me')).json.via).toBe('adminKey');
    const list = await service.admin('GET', '/api/admin-keys');
    expect(list.text).not.toContain(key);
    expect(list.json.items.map(({ id }: { id: string }) => id)).toContain(adminKey.id);
    expect((await service.admin('DELETE', `/api/admin-keys/${adminKey.id}`)).status).toBe(204);
    expect((await bearer('GET', '/api/me')).status).toBe(401);
  });

  test('a changed SV_BOOTSTRAP_ADMIN_KEY replaces the previous key', async () => {
    const place = await makePlace();
    await (await serveOn(place)).running.close();
    const later = { ...place, adminKey: `${place.adminKey.slice(0, -4)}ABCD` };
    const second = await serveOn({
      ...later,
      env: { ...place.env, SV_BOOTSTRAP_ADMIN_KEY: later.adminKey },
    });
    onTestFinished(() => second.stop());
    expect((await second.admin('GET', '/api/me')).status).toBe(200);
    const former = clientOf(second.running.url, { authorization: `Bearer ${place.adminKey}` });
    expect((await former('GET', '/api/me')).status).toBe(401);
  });

  test('without SV_BOOTSTRAP_EMAIL there is one owner, whose address a later setting adds', async () => {
    const place = await makePlace({ SV_BOOTSTRAP_EMAIL: '' });
    const first = await serveOn(place);
    const before = (await first.admin('GET', '/api/me')).json;
    await first.running.close();
    const named = { ...place.env, SV_BOOTSTRAP_EMAIL: 'Named@Example.org' };
    const second = await serveOn({ ...place, env: named });
    const after = (await second.admin('GET', '/api/me')).json;
    expect(after).toEqual({ ...before, email: 'named@example.org' });
    await second.running.close();
    const third = await serveOn(place);
    onTestFinished(() => third.stop());
    expect((await third.admin('GET', '/api/me')).json).toEqual(after);
  });
});
