import { generateKeyPairSync } from 'node:crypto';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../support/management-service.ts';
import { useService } from '../support/use-service.ts';
import { stepsOn } from '../support/service-steps.ts';

const SECRET = 'canary-client-secret-that-is-long-enough';
const TOKEN_URL = 'https://id.example.org/oauth/token';

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const ed = generateKeyPairSync('ed25519');
const pem = (key: typeof rsa.privateKey): string => key.export({ type: 'pkcs8', format: 'pem' }).toString();

const service = useService({ SV_EGRESS_ALLOW: '127.0.0.0/8' });
let made = 0;

const settings = (changes: object = {}): Record<string, unknown> => ({
  name: 'mail',
  tokenUrl: TOKEN_URL,
  clientId: `client ${++made}`,
  authMethod: 'client_secret_basic',
  clientSecret: SECRET,
  ...changes,
});
const byKey = (changes: object = {}): Record<string, unknown> => {
  const { clientSecret: _none, ...rest } = settings({ authMethod: 'private_key_jwt' });
  return { ...rest, privateKey: pem(rsa.privateKey), ...changes };
};
const create = (body: object): Promise<Answer> => service.admin('POST', '/api/providers', { body });
const patch = (id: string, body: object): Promise<Answer> =>
  service.admin('PATCH', `/api/providers/${id}`, { body });
const pathsOf = ({ json }: Answer): string[] => json.issues.map(({ path }: { path: string }) => path);
const log = () => stepsOn(service.running.url, service.admin).log();

describe('a provider', () => {
  test('a provider is created, listed, changed and deleted, each with an event', async () => {
    const body = settings();
    const { status, json: provider } = await create(body);
    const { clientSecret: _secret, ...shown } = body;
    const createdAt = '2026-11-20T12:00:00.000Z';
    expect([status, provider]).toEqual([
      201,
      {
        ...shown,
        id: expect.stringMatching(/^prv_[\w-]{22}$/),
        hasSecret: true,
        createdAt,
        updatedAt: createdAt,
      },
    ]);
    expect((await service.admin('GET', '/api/providers?limit=100')).json.items).toContainEqual(provider);

    service.clock.advance(1_000);
    const changed = await patch(provider.id, { name: 'renamed' });
    const updated = { ...provider, name: 'renamed', updatedAt: '2026-11-20T12:00:01.000Z' };
    expect([changed.status, changed.json]).toEqual([200, updated]);
    expect((await patch(provider.id, {})).json).toEqual(updated);

    expect((await service.admin('DELETE', `/api/providers/${provider.id}`)).status).toBe(204);
    expect((await service.admin('GET', '/api/providers?limit=100')).json.items).not.toContainEqual(updated);
    for (const answer of [
      await patch(provider.id, { name: 'n' }),
      await service.admin('DELETE', `/api/providers/${provider.id}`),
    ])
      expect([answer.status, answer.json.code]).toEqual([404, 'NOT_FOUND']);

    const providerId = provider.id as string;
    expect((await log()).slice(0, 3)).toMatchObject([
      { eventType: 'PROVIDER_DELETED', detail: { providerId, name: 'renamed' } },
      { eventType: 'PROVIDER_UPDATED', detail: { providerId, members: ['name'] } },
      { eventType: 'PROVIDER_CREATED', detail: { providerId, name: 'mail' } },
    ]);
  });

  test('a token URL and client id identify one provider, byte for byte', async () => {
    const first = settings();
    const other = settings();
    expect((await create(first)).status).toBe(201);
    const again = await create({ ...first, name: 'again' });
    expect([again.status, again.json.code]).toEqual([409, 'CONFLICT']);
    const { id } = (await create(other)).json;
    const { tokenUrl, clientId } = first;
    const moved = await patch(id, { clientId, authMethod: 'client_secret_basic', clientSecret: SECRET });
    expect([moved.status, moved.json.code]).toEqual([409, 'CONFLICT']);
    for (const spelt of [
      { clientId: `${clientId as string} ` },
      { clientId: (clientId as string).toUpperCase() },
      { tokenUrl: `${tokenUrl as string}/` },
      { tokenUrl: (tokenUrl as string).replace('id.', 'ID.') },
    ])
      expect([spelt, (await create({ ...first, ...spelt })).status]).toEqual([spelt, 201]);
  });

  test('one of two concurrent requests for the same provider succeeds', async () => {
    const body = settings();
    const statuses = (await Promise.all([1, 2, 3, 4].map(() => create(body)))).map(({ status }) => status);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([201, 409, 409, 409]);
  });
});

describe("a provider's secret", () => {
  test('the secret stays when other members change, and moves to no other token URL or client id', async () => {
    const { id } = (await create(settings())).json;
    const wrapped = () =>
      service.place.state.value(`SELECT secret_wrapped FROM providers WHERE id = '${id as string}'`);
    const before = await wrapped();
    await patch(id, { name: 'renamed' });
    expect(await wrapped()).toBe(before);
    for (const [member, value] of [
      ['tokenUrl', 'https://evil.example.org/token'],
      ['clientId', 'another'],
    ] as const) {
      const refused = await patch(id, { [member]: value });
      expect([refused.status, pathsOf(refused)]).toEqual([422, [member]]);
      const given = { [member]: value, authMethod: 'client_secret_post', clientSecret: 'another secret' };
      const accepted = await patch(id, given);
      expect([accepted.status, accepted.json]).toMatchObject([200, { [member]: value, hasSecret: true }]);
    }
    expect(await wrapped()).not.toBe(before);
  });

  test('a new secret needs its method and replaces everything about the previous one', async () => {
    const { id } = (await create(byKey({ algorithm: 'PS256', keyId: 'k-1' }))).json;
    const method = 'private_key_jwt';
    for (const [body, paths] of [
      [{ clientSecret: SECRET }, ['clientSecret']],
      [{ privateKey: pem(rsa.privateKey) }, ['privateKey']],
      [{ keyId: 'k-2' }, ['keyId']],
      [{ algorithm: 'RS256' }, ['algorithm']],
      [{ authMethod: 'client_secret_post' }, ['clientSecret']],
      [{ authMethod: method }, ['privateKey']],
      [{ authMethod: method, privateKey: pem(ed.privateKey) }, ['privateKey']],
    ] as const)
      expect([body, pathsOf(await patch(id, body))]).toEqual([body, paths]);
    const changed = await patch(id, {
      authMethod: method,
      privateKey: pem(ed.privateKey),
      algorithm: 'EdDSA',
    });
    expect(changed.json).toMatchObject({ authMethod: method, algorithm: 'EdDSA' });
    expect(changed.json).not.toHaveProperty('keyId');
    const bySecret = await patch(id, { authMethod: 'client_secret_basic', clientSecret: SECRET });
    expect(bySecret.json).not.toHaveProperty('algorithm');
  });

  test('the secret is in no answer, event, file or export', async () => {
    const key = pem(ed.privateKey);
    const answers = [
      await create(settings()),
      await create(byKey({ privateKey: key, algorithm: 'EdDSA', keyId: 'k' })),
      await create(byKey({ privateKey: key })),
      await create(settings({ privateKey: key })),
      await service.admin('GET', '/api/providers?limit=100'),
      await service.admin('GET', '/api/audit?limit=100'),
      await service.admin('GET', '/api/account/export'),
    ];
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 422, 422, 200, 200, 200]);
    const seen = Buffer.concat([
      ...answers.map(({ text }) => Buffer.from(text)),
      await service.place.state.bytes(),
    ]);
    const inner = key.split('\n')[1] ?? '';
    for (const secret of [SECRET, inner]) expect(tracesOf(secret, seen)).toEqual([]);
    const exported = answers.at(-1)?.json.providers as { hasSecret: boolean }[];
    expect(exported.length).toBeGreaterThan(3);
    expect(new Set(exported.flatMap((provider) => Object.keys(provider))).has('secretWrapped')).toBe(false);
  });
});

describe('invalid providers', () => {
  test.each([
    ['tokenUrl', { tokenUrl: 'http://10.0.0.1/token' }],
    ['tokenUrl', { tokenUrl: 'https://user@id.example.org/token' }],
    ['tokenUrl', { tokenUrl: `https://id.example.org/${'a'.repeat(2_048)}` }],
    ['clientId', { clientId: '' }],
    ['clientId', { clientId: 'a\r\nb' }],
    ['clientId', { clientId: 'ä' }],
    ['clientSecret', { clientSecret: '' }],
    ['clientSecret', { clientSecret: 'a\nb' }],
    ['clientSecret', { clientSecret: 's'.repeat(4_097) }],
    ['clientSecret', { clientSecret: undefined }],
    ['privateKey', { privateKey: 'x' }],
    ['authMethod', { authMethod: 'none' }],
    ['algorithm', { authMethod: 'private_key_jwt', algorithm: 'HS256' }],
    ['algorithm', { algorithm: 'RS256' }],
    ['keyId', { keyId: 'k' }],
    ['secretWrapped', { secretWrapped: 'x' }],
    ['name', { name: ' ' }],
  ])('an invalid %s is rejected (%#)', async (path, changes) => {
    const answer = await create(settings(changes));
    expect([answer.status, answer.json.code]).toEqual([422, 'INVALID_ARGUMENT']);
    expect(pathsOf(answer)).toContain(path);
    expect(answer.text).not.toContain(SECRET);
  });

  test.each([
    ['a key of another kind', { algorithm: 'ES256' }],
    ['a public key', { privateKey: rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString() }],
    ['no key at all', { privateKey: 'no key' }],
    ['a key that is too long', { privateKey: 'k'.repeat(8_193) }],
    ['no key', { privateKey: undefined }],
  ])('private_key_jwt with %s is rejected', async (_what, changes) => {
    expect(pathsOf(await create(byKey(changes)))).toEqual(['privateKey']);
  });

  test('a token URL with http is accepted for addresses in SV_EGRESS_ALLOW only', async () => {
    expect((await create(settings({ tokenUrl: 'http://127.0.0.1:1/token' }))).status).toBe(201);
  });
});
