import { afterAll, beforeAll, expect, test } from 'vitest';
import { newKey } from '@svault/shared';
import { type Call, type ManagementService, clientOf, makePlace, serveOn } from './management-service.ts';

/** Two accounts on one service. */
let service: ManagementService;
let stranger: Call;
let own: { agent: string; session: string; adminKey: string };

beforeAll(async () => {
  const place = await makePlace();
  const first = await serveOn(place);
  const agent = (await first.admin('POST', '/api/agents', { body: { name: 'mine' } })).json.agent.id;
  await first.admin('POST', `/api/agents/${agent}/grants`, { body: { serviceName: 'github' } });
  const token = new URL(first.running.ownerLink ?? '').searchParams.get('token');
  await first.anyone('POST', '/api/login/link', { body: { token } });
  const session = (await first.admin('GET', '/api/sessions')).json.items[0].id;
  const adminKey = (await first.admin('GET', '/api/admin-keys')).json.items[0].id;
  own = { agent, session, adminKey };
  await first.running.close();

  const strangerKey = newKey('svadmin');
  const env = {
    ...place.env,
    SV_BOOTSTRAP_EMAIL: 'stranger@example.org',
    SV_BOOTSTRAP_ADMIN_KEY: strangerKey,
  };
  service = { ...(await serveOn({ ...place, env })) };
  stranger = clientOf(service.running.url, { authorization: `Bearer ${strangerKey}` });
});
afterAll(() => service.stop());

test("another account's lists show none of it", async () => {
  for (const path of ['/api/agents', '/api/sessions', '/api/tokens'])
    expect([path, (await stranger('GET', path)).json.items]).toEqual([path, []]);
  expect((await service.admin('GET', '/api/agents')).json.items).toHaveLength(1);
});

test("another account's ids answer byte for byte like ids that never existed", async () => {
  const calls = [
    ['GET', '/api/agents/ID', own.agent],
    ['PATCH', '/api/agents/ID', own.agent, { name: 'taken' }],
    ['DELETE', '/api/agents/ID', own.agent],
    ['POST', '/api/agents/ID/suspend', own.agent],
    ['POST', '/api/agents/ID/resume', own.agent],
    ['POST', '/api/agents/ID/reveal-key', own.agent],
    ['POST', '/api/agents/ID/rotate-key', own.agent],
    ['GET', '/api/agents/ID/grants', own.agent],
    ['POST', '/api/agents/ID/grants', own.agent, { serviceName: 'github' }],
    ['DELETE', '/api/agents/ID/grants/github', own.agent],
    ['DELETE', '/api/sessions/ID', own.session],
    ['DELETE', '/api/admin-keys/ID', own.adminKey],
  ] as const;
  for (const [method, path, id, body] of calls) {
    const foreign = await stranger(method, path.replace('ID', id), { body });
    const unknown = await stranger(method, path.replace('ID', `${id.slice(0, -4)}AAAA`), { body });
    const malformed = await stranger(method, path.replace('ID', 'x'), { body });
    expect([method, path, foreign.status]).toEqual([method, path, 404]);
    expect(foreign.text).toBe(unknown.text);
    expect(foreign.text).toBe(malformed.text);
  }
  const untouched = await service.admin('GET', `/api/agents/${own.agent}`);
  expect(untouched.json).toMatchObject({ name: 'mine', status: 'active' });
  expect((await service.admin('GET', `/api/agents/${own.agent}/grants`)).json.items).toHaveLength(1);
});

test("locking one vault leaves the other's open", async () => {
  await stranger('POST', '/api/vault/lock');
  expect((await service.admin('GET', '/api/vault')).json.locked).toBe(false);
  await stranger('POST', '/api/vault/unlock');
});
