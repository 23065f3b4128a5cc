import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import type { Answer } from '../support/management-service.ts';
import { serviceInTest } from '../support/use-service.ts';

/* One person of an account writes as much as the service takes. */

test('management writes of one person are limited; reads, deletions and the lock are not', async () => {
  const service = await serviceInTest({ SV_LIMIT_MANAGEMENT_WRITE: '3' });
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

test.each([
  ['POST /api/policies/preview', { name: 'p', rules: [{ type: 'manual_approval' }], attachments: [] }],
  ['POST /api/policies/simulate', { agentId: 'agt_AAAAAAAAAAAAAAAAAAAAAA', serviceName: 'github' }],
  ['POST /api/reach/matrix', { callerIds: ['agt_AAAAAAAAAAAAAAAAAAAAAA'], serviceNames: ['github'] }],
  ['POST /api/attention/seen', { ids: ['vault_locked'] }],
])('%s counts as a write of the person, also while the vault is locked', async (route, body) => {
  const service = await serviceInTest({ SV_LIMIT_MANAGEMENT_WRITE: '1' });
  await service.admin('POST', '/api/vault/lock');
  const [, path = ''] = route.split(' ');
  const ask = async () => (await service.admin('POST', path, { body })).json;
  expect((await ask()).code).not.toBe('RATE_LIMITED');
  expect((await ask()).code).toBe('RATE_LIMITED');
});

const QUOTAS: Readonly<Record<string, readonly [path: string, body: (n: number) => object]>> = {
  AGENTS: ['/api/agents', (n) => ({ name: `a ${n}` })],
  FOLDERS: ['/api/folders', (n) => ({ name: `f ${n}` })],
  POLICIES: [
    '/api/policies',
    (n) => ({ name: `p ${n}`, enabled: true, rules: [{ type: 'manual_approval' }] }),
  ],
  PROXIES: [
    '/api/proxies',
    (n) => ({
      name: `x ${n}`,
      upstreamUrl: 'https://mcp.example.com/',
      serviceName: 'github',
      allowMissing: true,
    }),
  ],
  MEMBERS: ['/api/members', (n) => ({ email: `m${n}@example.org`, role: 'member' })],
  ADMIN_KEYS: ['/api/admin-keys', (n) => ({ name: `k ${n}` })],
  PROVIDERS: [
    '/api/providers',
    (n) => ({
      name: `p ${n}`,
      tokenUrl: `https://provider-${n}.example.com/token`,
      clientId: 'c',
      authMethod: 'client_secret_basic',
      clientSecret: 'secret',
    }),
  ],
  TOKENS: ['/api/tokens', (n) => ({ serviceName: `service-${n}`, tokenType: 'PlainText' })],
};
const LIMIT = 3;
let service: LinkedService;
beforeAll(async () => {
  const limits = Object.keys(QUOTAS).map((name) => [`SV_LIMIT_MAX_${name}`, String(LIMIT)]);
  service = await startLinkedService({ ...Object.fromEntries(limits), SV_LIMIT_MAX_GRANTS: '2' });
  expect((await service.bind()).status).toBe(201);
});
afterAll(() => service.stop());
afterEach(async () => {
  for (const path of ['/api/agents', '/api/folders'])
    for (const { id } of (await service.admin('GET', path)).json.items)
      await service.admin('DELETE', `${path}/${id}`);
  for (const { serviceName } of (await service.admin('GET', '/api/tokens')).json.items)
    await service.admin('DELETE', `/api/tokens/${serviceName}`);
});

test.each(Object.entries(QUOTAS))(
  'SV_LIMIT_MAX_%s: of concurrent requests as many as fit create something, and the others are 409 QUOTA_EXCEEDED',
  async (name, [path, body]) => {
    const create = (_: unknown, n: number): Promise<Answer> => service.admin('POST', path, { body: body(n) });
    const answers = await Promise.all(Array.from({ length: 8 }, create));
    const refused = answers.filter(({ status }) => status !== 201);
    // The owner and their admin key count from the start.
    const made = ['MEMBERS', 'ADMIN_KEYS'].includes(name) ? LIMIT - 1 : LIMIT;
    expect(refused).toHaveLength(8 - made);
    for (const { status, json } of refused)
      expect([status, json]).toEqual([
        409,
        { error: expect.stringContaining(`SV_LIMIT_MAX_${name}`), code: 'QUOTA_EXCEEDED', limit: LIMIT },
      ]);
    expect((await service.admin('GET', path)).json.items).toHaveLength(LIMIT);
  },
);

/** An agent, and tokens `service-0` to `service-2`. @returns the path of its grants */
async function makeGrantee(): Promise<string> {
  for (const n of [0, 1, 2])
    await service.admin('POST', '/api/tokens', {
      body: { serviceName: `service-${n}`, tokenType: 'PlainText' },
    });
  const { agent } = (await service.admin('POST', '/api/agents', { body: { name: 'a' } })).json;
  return `/api/agents/${agent.id}/grants`;
}

test('the grants of all agents share a quota, and deleting one makes room', async () => {
  const grants = await makeGrantee();
  const grant = async (n: number) =>
    (await service.admin('POST', grants, { body: { serviceName: `service-${n}` } })).status;
  expect([await grant(0), await grant(1), await grant(2)]).toEqual([201, 201, 409]);
  expect((await service.admin('DELETE', `${grants}/service-1`)).status).toBe(204);
  expect(await grant(2)).toBe(201);
});

test('granting a folder counts each of its grants, and creates all or none', async () => {
  const grants = await makeGrantee();
  const serviceNames = ['service-0', 'service-1', 'service-2'];
  const folder = await service.admin('POST', '/api/folders', { body: { name: 'f', serviceNames } });
  const body = { folderId: folder.json.id };
  const refused = await service.admin('POST', grants, { body });
  expect([refused.status, refused.json.code]).toEqual([409, 'QUOTA_EXCEEDED']);
  expect((await service.admin('GET', grants)).json.items).toEqual([]);
  const fewer = { serviceNames: serviceNames.slice(1) };
  await service.admin('PATCH', `/api/folders/${folder.json.id}`, { body: fewer });
  expect((await service.admin('POST', grants, { body })).status).toBe(201);
});
