import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hashKey } from '@svault/shared';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { addTokens } from '../support/beside-the-service.ts';
import { type LinkedService, startLinkedService } from '../support/linked-service.ts';
import { type Answer, clientOf } from '../support/management-service.ts';
import { uniqueName } from '../support/unique-name.ts';

const EXPORT = '/api/account/export';

let service: LinkedService;
let whole: Answer;
/** Every secret that the service issued or received. */
const secrets: Record<string, string> = {};
let agent: { id: string; apiKey: string };
let folderId: string;
let policyId: string;

beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
  const { admin } = service;
  // Lists are in the order of time, so each thing has its own.
  const post = async (path: string, body: object) => {
    service.clock.advance(1);
    return (await admin('POST', path, { body })).json;
  };
  for (const serviceName of ['github', 'npm'])
    secrets[`ticket ${serviceName}`] = (
      await post('/api/tokens', { serviceName, tokenType: 'PlainText', notes: `notes of ${serviceName}` })
    ).store.ticket;
  folderId = (await post('/api/folders', { name: 'ci', serviceNames: ['npm', 'github'] })).id;
  const made = await post('/api/agents', { name: 'builder' });
  agent = { id: made.agent.id, apiKey: made.apiKey };
  secrets['agent key'] = agent.apiKey;
  secrets['second agent key'] = (await post('/api/agents', { name: 'gone' })).apiKey;
  await post(`/api/agents/${agent.id}/grants`, { folderId });
  policyId = (await post('/api/policies', { name: 'office', rules: [{ type: 'manual_approval' }] })).id;
  await post(`/api/policies/${policyId}/attachments`, { targetType: 'agent', targetId: agent.id });
  const upstreamUrl = 'https://mcp.example.com/mcp';
  const proxy = {
    name: 'a proxy',
    upstreamUrl,
    serviceName: 'github',
    allowMissing: true,
    agentId: agent.id,
  };
  secrets['proxy key'] = (await post('/api/proxies', proxy)).key;
  const { proxy: gone, key } = await post('/api/proxies', { ...proxy, name: 'gone' });
  secrets['key of a revoked proxy'] = key;
  await post(`/api/proxies/${gone.id}/revoke`, {});
  secrets['client secret'] = randomBytes(32).toString('base64url');
  await post('/api/providers', { ...CLIENT, clientSecret: secrets['client secret'] });
  secrets['admin key'] = (await post('/api/admin-keys', { name: 'automation' })).key;
  secrets['settings key'] = service.place.adminKey;
  secrets['root key'] = service.place.env['SV_MASTER_KEY'] ?? '';
  const link = service.running.ownerLink ?? '';
  secrets['owner link'] = new URL(link).searchParams.get('token') ?? '';
  const signIn = await service.anyone('POST', '/api/login/link', { body: { token: secrets['owner link'] } });
  secrets['session'] = /=([^;]+)/.exec(signIn.headers.get('set-cookie') ?? '')?.[1] ?? '';
  secrets['webhook key'] = Buffer.from(service.webhook.secret).toString('base64url');
  whole = await admin('GET', EXPORT);
});
afterAll(() => service.stop());

const CLIENT = {
  name: 'mail',
  tokenUrl: 'https://id.example.org/token',
  clientId: 'a client',
  authMethod: 'client_secret_basic',
};

test('the export has everything that is stored about the account, in one document', async () => {
  expect([
    whole.status,
    whole.headers.get('content-disposition'),
    whole.headers.get('cache-control'),
  ]).toEqual([200, 'attachment; filename="svault-account.json"', 'no-store']);
  const owner = (await service.admin('GET', '/api/me')).json;
  expect(whole.json).toMatchObject({
    format: 'svault-account-export',
    version: 1,
    exportedAt: expect.stringMatching(/^2026-11-20T12:00:00/),
    vault: { id: owner.vaultId, locked: false },
    webhook: { webhookId: service.webhook.webhookId, url: service.webhook.url, boundBy: owner.id },
    members: [{ id: owner.id, email: 'owner@example.org', role: 'admin', isOwner: true }],
    agents: [{ id: agent.id, name: 'builder', status: 'active' }, { name: 'gone' }],
    grants: ['github', 'npm'].map((serviceName) => ({
      agentId: agent.id,
      serviceName,
      sourceGroupId: folderId,
    })),
    tokens: ['github', 'npm'].map((serviceName) => ({
      serviceName,
      notes: `notes of ${serviceName}`,
      folderIds: [folderId],
    })),
    folders: [{ id: folderId, name: 'ci', serviceNames: ['github', 'npm'] }],
    policies: [{ id: policyId, name: 'office', rules: [{ type: 'manual_approval' }] }],
    policyAttachments: [{ policyId, targetType: 'agent', targetId: agent.id }],
    proxies: [
      {
        name: 'a proxy',
        upstreamUrl: 'https://mcp.example.com/mcp',
        upstreamAuthType: 'Token',
        serviceName: 'github',
        agentId: agent.id,
        headerTemplates: { authorization: 'Bearer ${TOKEN}' },
        status: 'active',
        revokedAt: null,
      },
      { name: 'gone', status: 'revoked', revokedAt: expect.any(String) },
    ],
    providers: [{ ...CLIENT, hasSecret: true }],
    adminKeys: [{ origin: 'settings' }, { name: 'automation' }],
    sessions: [{ userId: owner.id, kind: 'console' }],
  });
});

test('the export matches its OpenAPI schema, member by member', async () => {
  const { components, paths } = (await service.anyone('GET', '/api/openapi.json')).json;
  const schema = paths[EXPORT].get.responses['200'].content['application/json'].schema;
  const shape = components.schemas[schema.$ref.split('/').at(-1)].properties as Record<string, unknown>;
  expect(Object.keys(whole.json).toSorted()).toEqual(Object.keys(shape).toSorted());
});

test('the export has no secret and no hash of one', () => {
  const text = Buffer.from(whole.text);
  expect(Object.keys(secrets)).toHaveLength(13);
  for (const [what, secret] of Object.entries(secrets)) {
    expect([what, secret.length > 20]).toEqual([what, true]);
    expect([what, tracesOf(secret, text)]).toEqual([what, []]);
    expect([what, tracesOf(hashKey(secret), text)]).toEqual([what, []]);
    expect([what, tracesOf(Buffer.from(hashKey(secret), 'hex').toString('base64url'), text)]).toEqual([
      what,
      [],
    ]);
  }
  // Under any name: no value is as long and random as a key, a hash or a wrapped key.
  const strings = JSON.stringify(whole.json).match(/"[^"]*"/g) ?? [];
  const random = strings.filter((text) => /[A-Za-z0-9_+/-]{40,}/.test(text));
  expect(random).toEqual([]);
  expect(/[A-Za-z0-9_+/-]{40,}/.test(randomBytes(32).toString('base64url'))).toBe(true);
});

test('the event of an export is written before the first byte is sent', async () => {
  const [event] = await service.log('&eventType=ACCOUNT_EXPORTED');
  const { id } = (await service.admin('GET', '/api/me')).json;
  expect(event).toMatchObject({ outcome: 'success', userId: id });
  expect(JSON.stringify(await service.log())).toContain('ACCOUNT_EXPORTED');
});

describe('who may export an account', () => {
  test('a link on another site cannot start an export with the cookie', async () => {
    const own = clientOf(service.running.url, { cookie: `svault=${secrets['session']}` });
    const before = (await service.log('&eventType=ACCOUNT_EXPORTED')).length;
    // More often than the limit, and none of them counts.
    for (const site of ['cross-site', 'same-site', 'cross-site', 'same-site', 'cross-site', 'same-site']) {
      const answer = await own('GET', EXPORT, { headers: { 'sec-fetch-site': site } });
      expect([answer.status, answer.json.code]).toEqual([403, 'FORBIDDEN']);
    }
    expect(await service.log('&eventType=ACCOUNT_EXPORTED')).toHaveLength(before);
    const wanted = await own('GET', EXPORT, { headers: { 'sec-fetch-site': 'same-origin' } });
    expect(wanted.status).toBe(200);
  });

  test('an export works while the vault is locked', async () => {
    await service.admin('POST', '/api/vault/lock');
    const answer = await service.admin('GET', EXPORT);
    await service.admin('POST', '/api/vault/unlock');
    expect([answer.status, answer.json.vault.locked]).toEqual([200, true]);
  });
});

test('the export has every item of every list once, and empty lists for a new account', async () => {
  const large = await startLinkedService();
  try {
    const { admin } = large;
    const empty = (await admin('GET', EXPORT)).json;
    expect(empty).toMatchObject({
      webhook: null,
      agents: [],
      grants: [],
      tokens: [],
      folders: [],
      policies: [],
    });
    expect(empty.members).toHaveLength(1);

    const names = Array.from({ length: 230 }, (_, index) => `t${String(index).padStart(3, '0')}`);
    await addTokens(large, names);
    const folders: string[] = [];
    for (let index = 0; index < 12; index++)
      folders.push(
        (await admin('POST', '/api/folders', { body: { name: 'f', serviceNames: names } })).json.id,
      );
    const agents: string[] = [];
    for (let index = 0; index < 3; index++) {
      const { id } = (await admin('POST', '/api/agents', { body: { name: uniqueName('a') } })).json.agent;
      await admin('POST', `/api/agents/${id}/grants`, { body: { folderId: folders[0] } });
      agents.push(id);
    }
    const { json } = await admin('GET', EXPORT);
    const pairs = (json.grants as { agentId: string; serviceName: string }[]).map(
      ({ agentId, serviceName }) => `${agentId} ${serviceName}`,
    );
    expect(pairs.toSorted()).toEqual(agents.flatMap((id) => names.map((name) => `${id} ${name}`)).toSorted());
    expect(json.tokens.map(({ serviceName }: { serviceName: string }) => serviceName)).toEqual(names);
    expect(json.folders.map(({ id }: { id: string }) => id).toSorted()).toEqual(folders.toSorted());
    expect(json.folders[0].serviceNames).toEqual(names);
  } finally {
    await large.stop();
  }
});
