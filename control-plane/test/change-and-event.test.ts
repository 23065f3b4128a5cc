import { expect, test } from 'vitest';
import { signInBy, startService } from './management-service.ts';
import { useService } from './support/use-service.ts';

const service = useService();

interface Event {
  readonly eventType: string;
  readonly outcome: string;
  readonly agentId?: string;
  readonly serviceName?: string;
  readonly userId?: string;
}

/** The events of a piece of work, oldest first. */
async function eventsOf(work: () => Promise<unknown>): Promise<Event[]> {
  const log = async () => (await service.admin('GET', '/api/audit?limit=100')).json.items as Event[];
  const before = (await log()).length;
  await work();
  return (await log()).toReversed().slice(before);
}

const typesOf = async (work: () => Promise<unknown>) =>
  (await eventsOf(work)).map(({ eventType }) => eventType);

test('every change writes its event with actor and object', async () => {
  const { id: userId } = (await service.admin('GET', '/api/me')).json;
  let path = '';
  let agentId = '';
  const [created] = await eventsOf(async () => {
    agentId = (await service.admin('POST', '/api/agents', { body: { name: 'builder' } })).json.agent.id;
    path = `/api/agents/${agentId}`;
  });
  expect(created).toMatchObject({ eventType: 'AGENT_CREATED', outcome: 'success', agentId, userId });

  const post = (action: string, body?: object) => service.admin('POST', path + action, { body });
  expect(await typesOf(() => service.admin('PATCH', path, { body: { name: 'b' } }))).toEqual([
    'AGENT_UPDATED',
  ]);
  expect(await typesOf(() => post('/suspend'))).toEqual(['AGENT_SUSPENDED']);
  expect(await typesOf(() => post('/resume'))).toEqual(['AGENT_RESUMED']);
  expect(await typesOf(() => post('/reveal-key'))).toEqual(['KEY_REVEALED']);
  expect(await typesOf(() => post('/rotate-key'))).toEqual(['KEY_ROTATED']);

  const body = { serviceName: 'github', expiresInSeconds: 3_600 };
  const [granted] = await eventsOf(() => post('/grants', body));
  expect(granted).toMatchObject({ eventType: 'GRANT_CREATED', agentId, serviceName: 'github' });
  service.clock.advance(3_600_000);
  expect(await typesOf(() => post('/grants', body))).toEqual(['GRANT_EXPIRED', 'GRANT_CREATED']);
  expect(await typesOf(() => service.admin('DELETE', `${path}/grants/github`))).toEqual(['GRANT_REVOKED']);
  expect(await typesOf(() => service.admin('DELETE', path))).toEqual(['AGENT_DELETED']);

  expect(await typesOf(() => service.admin('POST', '/api/vault/lock'))).toEqual(['VAULT_LOCKED']);
  expect(await typesOf(() => service.admin('POST', '/api/vault/unlock'))).toEqual(['VAULT_UNLOCKED']);

  let keyId = '';
  const makeKey = async () => {
    keyId = (await service.admin('POST', '/api/admin-keys', { body: { name: 'ci' } })).json.adminKey.id;
  };
  expect(await typesOf(makeKey)).toEqual(['ADMIN_KEY_CREATED']);
  expect(await typesOf(() => service.admin('DELETE', `/api/admin-keys/${keyId}`))).toEqual([
    'ADMIN_KEY_DELETED',
  ]);
  expect(await typesOf(() => signInBy(service, service.running.ownerLink ?? ''))).toEqual([]);
});

test('a request that changes nothing or is denied writes no event', async () => {
  const { id } = (await service.admin('POST', '/api/agents', { body: { name: 'quiet' } })).json.agent;
  const types = await typesOf(async () => {
    await service.admin('POST', `/api/agents/${id}/resume`);
    await service.admin('PATCH', `/api/agents/${id}`, { body: {} });
    await service.admin('POST', '/api/vault/unlock');
    await service.admin('POST', `/api/agents/${id}/grants`, { body: { serviceName: 'a/b' } });
    await service.admin('DELETE', `/api/agents/${id}/grants/github`);
  });
  expect(types).toEqual([]);
});

test('a sign-in writes an event', async () => {
  const own = await startService();
  try {
    await signInBy(own, own.running.ownerLink ?? '');
    const { items } = (await own.admin('GET', '/api/audit')).json;
    expect(items[0]).toMatchObject({ eventType: 'LOGIN', outcome: 'success' });
  } finally {
    await own.stop();
  }
});
