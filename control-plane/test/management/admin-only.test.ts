import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type Call, clientOf } from '../support/management-service.ts';
import { type TestMember, addMember } from '../support/members.ts';

/*
 * A member and an admin call every route: those in the list are for admins, all others for members too, so that a new
 * route has to be put on one side.
 */

const BY_CONTRACT: Readonly<Record<string, readonly string[]>> = {
  unlock: ['POST /api/vault/unlock'],
  'tokens PATCH, DELETE, refresh, credential-ticket': [
    'PATCH /api/tokens/{serviceName}',
    'DELETE /api/tokens/{serviceName}',
    'POST /api/tokens/{serviceName}/refresh',
    'POST /api/tokens/{serviceName}/credential-ticket',
  ],
  webhook: [
    'GET /api/webhook',
    'POST /api/webhook/bind',
    'DELETE /api/webhook',
    'POST /api/webhook/rotate-secret',
  ],
  members: [
    'GET /api/members',
    'POST /api/members',
    'POST /api/members/{id}/link',
    'PATCH /api/members/{id}',
    'DELETE /api/members/{id}',
  ],
  'admin keys': ['POST /api/admin-keys', 'GET /api/admin-keys', 'DELETE /api/admin-keys/{id}'],
  providers: [
    'GET /api/providers',
    'POST /api/providers',
    'PATCH /api/providers/{id}',
    'DELETE /api/providers/{id}',
  ],
};
/** The export has everything of the account; a setting of the account is about all its agents. */
const BEYOND = ['GET /api/account/export', 'PATCH /api/vault'];
const ADMIN_ONLY = [...Object.values(BY_CONTRACT).flat(), ...BEYOND];

let service: LinkedService;
let member: TestMember;
let admin: TestMember;

beforeAll(async () => {
  service = await startLinkedService();
  [member, admin] = [await addMember(service, 'member'), await addMember(service, 'admin')];
});
afterAll(() => service.stop());

interface Route {
  readonly name: string;
  readonly method: string;
  readonly path: string;
}

async function signedInRoutes(): Promise<readonly Route[]> {
  const { paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  return Object.entries<Record<string, { security: unknown[] }>>(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security.length > 0)
      .map(([verb]) => ({ name: `${verb.toUpperCase()} ${path}`, method: verb.toUpperCase(), path })),
  );
}

/** An unknown member, so that an authorized caller gets 422 and nothing happens. */
const ask = (call: Call, { method, path }: Route) => {
  const there = path.replaceAll(/\{\w+\}/g, 'x');
  return method === 'GET' ? call(method, `${there}?zz=1`) : call(method, there, { body: { zz: 1 } });
};

// spec: Vault | locked | unlock | admin only | unlocked | none stated
test('a member gets FORBIDDEN on the admin routes only', async () => {
  const routes = await signedInRoutes();
  expect(routes.map(({ name }) => name)).toEqual(expect.arrayContaining(ADMIN_ONLY));
  const refused: string[] = [];
  for (const route of routes) {
    const answer = await ask(member.session, route);
    expect([route.name, answer.status]).toEqual([route.name, answer.json.code === 'FORBIDDEN' ? 403 : 422]);
    if (answer.status === 403) refused.push(route.name);
  }
  expect(refused.sort()).toEqual([...ADMIN_ONLY].sort());
});

test('an admin may call every route', async () => {
  for (const route of await signedInRoutes()) {
    const { status } = await ask(admin.session, route);
    expect([route.name, status]).toEqual([route.name, 422]);
  }
});

test("a member's store ticket always has ifv 0, an admin's may replace a credential", async () => {
  await service.bind();
  const body = { serviceName: 'github', tokenType: 'PlainText' };
  const made = await member.session('POST', '/api/tokens', { body });
  expect(made.status).toBe(201);
  const again = (call: Call, asked = {}) => call('POST', '/api/tokens/github/store-ticket', { body: asked });
  expect(claimsOf(made.json.store.ticket)).toMatchObject({ ifv: 0 });
  for (const asked of [{}, { ifv: 0 }])
    expect(claimsOf((await again(member.session, asked)).json.ticket)).toMatchObject({ ifv: 0 });
  expect((await again(member.session, { ifv: 1 })).json.code).toBe('FORBIDDEN');
  expect(claimsOf((await again(admin.session)).json.ticket)).not.toHaveProperty('ifv');
});

test('a member lists and ends their own sessions only', async () => {
  const { items } = (await admin.session('GET', '/api/sessions')).json;
  const other = items.find(({ userId }: { userId: string }) => userId === admin.id);
  const answer = await member.session('DELETE', `/api/sessions/${other.id}`);
  expect([answer.status, (await admin.session('GET', '/api/me')).status]).toEqual([404, 200]);
  const own = (await member.session('GET', '/api/sessions')).json.items;
  expect(own.map(({ userId }: { userId: string }) => userId)).toEqual([member.id]);
});

test('the page that binds a webhook rejects members, its form too', async () => {
  const cookieOnly = async (person: TestMember) => {
    const { url } = (await service.admin('POST', `/api/members/${person.id}/link`)).json;
    const token = new URL(url).searchParams.get('token');
    const answer = await service.anyone('POST', '/api/login/link', { body: { token } });
    return clientOf(service.running.url, { cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' });
  };
  const page = await cookieOnly(member);
  expect((await page('GET', '/vault/webhook-bind')).status).toBe(403);
  const headers = {
    origin: new URL(member.link).origin,
    'content-type': 'application/x-www-form-urlencoded',
  };
  const form = await page('POST', '/vault/webhook-bind', { rawBody: 'code=x', headers });
  expect([form.status, form.text]).toEqual([403, expect.stringContaining('This needs an admin')]);
});

const claimsOf = (ticket: string): unknown =>
  JSON.parse(Buffer.from(ticket.split('.')[1] ?? '', 'base64url').toString());
