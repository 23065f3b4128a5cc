import { afterEach, describe, expect, test } from 'vitest';
import { startLinkedService } from '../support/linked-service.ts';
import { type ManagementService, startService } from '../support/management-service.ts';

/* One person of an account writes as much as the service takes. */

let service: ManagementService;
afterEach(() => service.stop());

const token = (n: number) => ({ serviceName: `service-${n}`, tokenType: 'PlainText' });

test('management writes of one person are limited; reads, deletions and the lock are not', async () => {
  service = await startService({ SV_LIMIT_MANAGEMENT_WRITE: '3' });
  const create = (n: number) => service.admin('POST', '/api/folders', { body: { name: `f ${n}` } });
  for (let n = 0; n < 3; n += 1) expect((await create(n)).status).toBe(201);
  const denied = await create(3);
  expect([denied.status, denied.json]).toEqual([
    429,
    { error: expect.any(String), code: 'RATE_LIMITED', retryAfter: expect.any(Number) },
  ]);
  const { items } = (await service.admin('GET', '/api/folders?limit=1')).json;
  expect((await service.admin('DELETE', `/api/folders/${items[0].id}`)).status).toBe(204);
  expect((await service.admin('POST', '/api/vault/lock')).status).toBe(200);
  expect((await service.admin('POST', '/api/vault/unlock')).status).toBe(200);
  service.clock.advance(60_000);
  expect((await create(4)).status).toBe(201);
});

describe('the quotas of an account', () => {
  const MAX = '3';
  test.each([
    ['AGENTS', '/api/agents', (n: number) => ({ name: `a ${n}` })],
    ['FOLDERS', '/api/folders', (n: number) => ({ name: `f ${n}` })],
    [
      'POLICIES',
      '/api/policies',
      (n: number) => ({ name: `p ${n}`, enabled: true, rules: [{ type: 'manual_approval' }] }),
    ],
    [
      'PROXIES',
      '/api/proxies',
      (n: number) => ({ name: `x ${n}`, upstreamUrl: 'https://mcp.example.com/', serviceName: 'github' }),
    ],
    ['MEMBERS', '/api/members', (n: number) => ({ email: `m${n}@example.org`, role: 'member' })],
    ['ADMIN_KEYS', '/api/admin-keys', (n: number) => ({ name: `k ${n}` })],
    [
      'PROVIDERS',
      '/api/providers',
      (n: number) => ({
        name: `p ${n}`,
        tokenUrl: `https://provider-${n}.example.com/token`,
        clientId: 'c',
        authMethod: 'client_secret_basic',
        clientSecret: 'secret',
      }),
    ],
  ])(
    'SV_LIMIT_MAX_%s: one more is answered with 409 QUOTA_EXCEEDED, which names the setting',
    async (name, path, body) => {
      const setting = `SV_LIMIT_MAX_${name}`;
      service = await startService({ [setting]: MAX });
      let made = 0;
      let answer = await service.admin('POST', path, { body: body(made) });
      while (answer.status === 201 && made < 10)
        answer = await service.admin('POST', path, { body: body((made += 1)) });
      expect([answer.status, answer.json]).toEqual([
        409,
        { error: expect.stringContaining(setting), code: 'QUOTA_EXCEEDED', limit: 3 },
      ]);
      // The owner and their admin key count from the start.
      expect(made).toBe(['MEMBERS', 'ADMIN_KEYS'].includes(name) ? 2 : 3);
    },
  );

  test('the grants of all agents share a quota, and deleting one makes room', async () => {
    service = await startService({ SV_LIMIT_MAX_GRANTS: '2' });
    const { agent } = (await service.admin('POST', '/api/agents', { body: { name: 'a' } })).json;
    const grants = `/api/agents/${agent.id}/grants`;
    const grant = async (n: number) => {
      await service.admin('POST', '/api/tokens', { body: token(n) });
      return (await service.admin('POST', grants, { body: { serviceName: `service-${n}` } })).status;
    };
    expect([await grant(1), await grant(2), await grant(3)]).toEqual([201, 201, 409]);
    expect((await service.admin('DELETE', `${grants}/service-1`)).status).toBe(204);
    expect(await grant(4)).toBe(201);
  });

  test('granting a folder counts each of its grants, and creates all or none', async () => {
    const linked = await startLinkedService({ SV_LIMIT_MAX_GRANTS: '2' });
    service = linked;
    expect((await linked.bind()).status).toBe(201);
    const { agent } = (await service.admin('POST', '/api/agents', { body: { name: 'a' } })).json;
    const grants = `/api/agents/${agent.id}/grants`;
    const serviceNames = ['service-1', 'service-2', 'service-3'];
    for (const n of [1, 2, 3]) await service.admin('POST', '/api/tokens', { body: token(n) });
    const folder = await service.admin('POST', '/api/folders', { body: { name: 'f', serviceNames } });
    const body = { folderId: folder.json.id };
    const refused = await service.admin('POST', grants, { body });
    expect([refused.status, refused.json.code]).toEqual([409, 'QUOTA_EXCEEDED']);
    expect((await service.admin('GET', grants)).json.items).toEqual([]);
    const fewer = { serviceNames: serviceNames.slice(1) };
    await service.admin('PATCH', `/api/folders/${folder.json.id}`, { body: fewer });
    expect((await service.admin('POST', grants, { body })).status).toBe(201);
  });

  test('concurrent requests do not exceed a quota', async () => {
    service = await startService({ SV_LIMIT_MAX_FOLDERS: '3' });
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        service.admin('POST', '/api/folders', { body: { name: `f ${n}` } }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(3);
    expect((await service.admin('GET', '/api/folders')).json.items).toHaveLength(3);
  });

  test('a member creates tokens up to the quota, and then gets 409 QUOTA_EXCEEDED', async () => {
    const linked = await startLinkedService({ SV_LIMIT_MAX_TOKENS: '3' });
    service = linked;
    expect((await linked.bind()).status).toBe(201);
    const answers = [];
    for (let n = 0; n < 5; n += 1)
      answers.push(await service.admin('POST', '/api/tokens', { body: token(n) }));
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 409, 409]);
    expect(answers[4]?.json.code).toBe('QUOTA_EXCEEDED');
  });
});
