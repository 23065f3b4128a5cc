import { expect, test } from 'vitest';
import { signInBy } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';

const service = useService();

/** The types of the events that `work` causes, oldest first. */
async function typesOf(work: () => Promise<unknown>): Promise<string[]> {
  const log = async () => (await service.admin('GET', '/api/audit?limit=100')).json.items;
  const before = (await log()).length;
  await work();
  const events: { readonly eventType: string }[] = (await log()).toReversed().slice(before);
  return events.map(({ eventType }) => eventType);
}

// What each event says: audit-completeness.test.ts.
test('a change writes its own event and no other', async () => {
  const { id } = (await service.admin('POST', '/api/agents', { body: { name: 'builder' } })).json.agent;
  const path = `/api/agents/${id}`;
  const post = (action: string, body?: object) => service.admin('POST', path + action, { body });
  const grant = () => post('/grants', { serviceName: 'github', expiresInSeconds: 3_600 });
  let keyId = '';
  const makeKey = async (): Promise<void> => {
    keyId = (await service.admin('POST', '/api/admin-keys', { body: { name: 'ci' } })).json.adminKey.id;
  };
  const changes: readonly (readonly [string | readonly string[], () => Promise<unknown>])[] = [
    ['AGENT_CREATED', () => service.admin('POST', '/api/agents', { body: { name: 'another' } })],
    ['AGENT_UPDATED', () => service.admin('PATCH', path, { body: { name: 'b' } })],
    ['AGENT_SUSPENDED', () => post('/suspend')],
    ['AGENT_RESUMED', () => post('/resume')],
    ['KEY_REVEALED', () => post('/reveal-key')],
    ['KEY_ROTATED', () => post('/rotate-key')],
    ['GRANT_CREATED', grant],
    [['GRANT_EXPIRED', 'GRANT_CREATED'], () => (service.clock.advance(3_600_000), grant())],
    ['GRANT_REVOKED', () => service.admin('DELETE', `${path}/grants/github`)],
    ['AGENT_DELETED', () => service.admin('DELETE', path)],
    ['VAULT_LOCKED', () => service.admin('POST', '/api/vault/lock')],
    ['VAULT_UNLOCKED', () => service.admin('POST', '/api/vault/unlock')],
    ['ADMIN_KEY_CREATED', makeKey],
    ['ADMIN_KEY_DELETED', () => service.admin('DELETE', `/api/admin-keys/${keyId}`)],
  ];
  for (const [types, change] of changes) expect(await typesOf(change)).toEqual([types].flat());
});

test('a request that changes nothing or is denied writes no event', async () => {
  const { id } = (await service.admin('POST', '/api/agents', { body: { name: 'quiet' } })).json.agent;
  const types = await typesOf(async () => {
    await service.admin('POST', `/api/agents/${id}/resume`);
    await service.admin('PATCH', `/api/agents/${id}`, { body: {} });
    await service.admin('POST', '/api/vault/unlock');
    await service.admin('POST', `/api/agents/${id}/grants`, { body: { serviceName: 'a/b' } });
    await service.admin('DELETE', `/api/agents/${id}/grants/github`);
    await signInBy(service, service.running.ownerLink ?? '');
  });
  expect(types).toEqual([]);
});
