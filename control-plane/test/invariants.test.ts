import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { openPlain } from '@svault/server-kit/sqlite';
import { ManualClock, newKey, randomToken } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { controlPlaneConfig } from '../src/config/config.ts';
import { startControlPlane } from '../src/serve.ts';
import { type LinkedService, startLinkedService } from './linked-service.ts';
import { BASE_URL, type Place, clientOf, makePlace, serveOn } from './management-service.ts';

/*
 * What the service promises, one test each. Other files test how each part behaves; what stands here must hold
 * whatever is changed elsewhere.
 */

let service: LinkedService;
beforeAll(async () => {
  service = await startLinkedService();
  await service.bind();
});
afterAll(() => service.stop());

test('1. the key of a suspended or deleted agent opens nothing, from the moment that is answered', async () => {
  const agent = await service.agent('github');
  expect((await agent.get('github')).status).toBe(307);
  await service.admin('POST', `/api/agents/${agent.id}/suspend`);
  for (const answer of [await agent.get('github'), await agent.list()])
    expect([answer.status, answer.json.code]).toEqual([403, 'AGENT_INACTIVE']);
  await service.admin('POST', `/api/agents/${agent.id}/resume`);
  expect((await agent.get('github')).status).toBe(307);
  await service.admin('DELETE', `/api/agents/${agent.id}`);
  for (const answer of [await agent.get('github'), await agent.list()])
    expect([answer.status, answer.json.code]).toEqual([403, 'AGENT_INACTIVE']);
});

test('2. a key that was rotated away opens nothing', async () => {
  const agent = await service.agent('github');
  await service.admin('POST', `/api/agents/${agent.id}/rotate-key`);
  const answer = await agent.get('github');
  expect([answer.status, answer.json.code]).toEqual([403, 'INVALID_KEY']);
});

test('3. a revoked grant gives nothing, and an expired one is deleted by the request that meets it', async () => {
  const agent = await service.agent('revoked');
  await service.admin('DELETE', `/api/agents/${agent.id}/grants/revoked`);
  expect((await agent.get('revoked')).json.code).toBe('NO_GRANT');

  const body = { serviceName: 'expiring', expiresInSeconds: 3_600 };
  await service.admin('POST', `/api/agents/${agent.id}/grants`, { body });
  service.clock.advance(3_600_000);
  expect((await agent.get('expiring')).json.code).toBe('GRANT_EXPIRED');
  expect((await agent.get('expiring')).json.code).toBe('NO_GRANT');
  expect((await service.admin('GET', `/api/agents/${agent.id}/grants`)).json.items).toEqual([]);
});

test('4. a locked vault gives no credential and takes no change', async () => {
  const agent = await service.agent('github');
  await service.admin('POST', '/api/vault/lock');
  expect((await agent.get('github')).json.code).toBe('VAULT_LOCKED');
  const change = await service.admin('POST', `/api/agents/${agent.id}/reveal-key`);
  expect(change.json.code).toBe('VAULT_LOCKED');
  await service.admin('POST', '/api/vault/unlock');
  expect((await agent.get('github')).status).toBe(307);
});

test('5. whoever is not signed in hears the same bytes, whatever is wrong', async () => {
  const wrong = [{}, { authorization: `Bearer ${newKey('svadmin')}` }, { authorization: 'Basic eDp5' }];
  const answers = await Promise.all(
    wrong.map((headers) => service.anyone('GET', '/api/agents', { headers })),
  );
  expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
  expect(answers[0]?.status).toBe(401);
});

test('6. a sign-in link works once, across a restart too', async () => {
  const place = await makePlace();
  const first = await serveOn(place);
  const token = new URL(first.running.ownerLink ?? '').searchParams.get('token');
  expect((await first.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(200);
  await first.running.close();
  const second = await serveOn(place);
  expect((await second.anyone('POST', '/api/login/link', { body: { token } })).status).toBe(401);
  await second.stop();
});

test('7. under a wrong master key nothing starts and nothing changes', async () => {
  const place = await makePlace();
  await (await serveOn(place)).running.close();
  const before = await readFile(place.databasePath);
  const wrong = { ...place, env: { ...place.env, SV_MASTER_KEY: randomToken(32) } };
  await expect(serveOn(wrong)).rejects.toThrow('SV_MASTER_KEY does not open this database');
  expect((await readFile(place.databasePath)).equals(before)).toBe(true);
  await place.remove();
});

test('8. no key, cookie or link of ours stands in a file or a log of the service in a form that opens anything', async () => {
  const place = await makePlace({ SV_LOG_LEVEL: 'trace' });
  const { secrets, log } = await useEverySecretOnce(place);
  expect(log).toContain('control plane serves');
  const files = await readdir(place.folder);
  const bytes = await Promise.all(files.map((file) => readFile(join(place.folder, file))));
  for (const [what, secret] of Object.entries(secrets)) {
    expect([what, tracesOf(secret, Buffer.from(log))]).toEqual([what, []]);
    for (const [index, content] of bytes.entries())
      expect([what, files[index], tracesOf(secret, content)]).toEqual([what, files[index], []]);
  }
  await place.remove();
});

/** Makes, uses and misuses every kind of secret that passes the management side. */
async function useEverySecretOnce(
  place: Place,
): Promise<{ secrets: Readonly<Record<string, string>>; log: string }> {
  const sink = new LogSink();
  const logger = createLogger({ name: 'control-plane', level: 'trace', format: 'json', destination: sink });
  const running = await startControlPlane({
    config: controlPlaneConfig(place.env),
    clock: new ManualClock(Date.parse('2026-11-20T12:00:00Z')),
    logger,
  });
  const admin = clientOf(running.url, { authorization: `Bearer ${place.adminKey}` });
  const anyone = clientOf(running.url);
  const { agent, apiKey } = (await admin('POST', '/api/agents', { body: { name: 'a' } })).json;
  const { key: secondKey } = (await admin('POST', '/api/admin-keys', { body: { name: 'b' } })).json;
  await admin('POST', `/api/agents/${agent.id}/reveal-key`);
  const linkToken = new URL(running.ownerLink ?? '').searchParams.get('token') ?? '';
  await anyone('GET', `/login/link?token=${linkToken}`);
  const signIn = await anyone('POST', '/api/login/link', { body: { token: linkToken } });
  const cookie = /=([^;]+)/.exec(signIn.headers.get('set-cookie') ?? '')?.[1] ?? '';
  await anyone('GET', '/api/me', { headers: { cookie: `svault=${cookie}` } });
  for (const path of [`/api/agents/${apiKey}`, `/api/agents?cursor=${secondKey}`, `/nowhere?key=${apiKey}`])
    await admin('GET', path);
  await anyone('GET', `/api/agents/credentials?key=${apiKey}`);
  await anyone('GET', '/api/agents/credentials', { headers: { 'x-agent-key': apiKey } });
  await running.close();
  const masterKey = place.env['SV_MASTER_KEY'] ?? '';
  const secrets = { apiKey, adminKey: place.adminKey, secondKey, linkToken, cookie, masterKey };
  return { secrets, log: sink.text };
}

test('9. there is no column that could hold a credential: this is all that the service keeps', () => {
  const db = openPlain(service.place.databasePath);
  const columns = db
    .prepare<[], { name: string; columns: string }>(
      `SELECT m.name, (SELECT group_concat(name, ' ') FROM pragma_table_info(m.name)) AS columns
       FROM sqlite_schema m WHERE m.type = 'table' ORDER BY m.name`,
    )
    .all();
  db.close();
  expect(Object.fromEntries(columns.map((table) => [table.name, table.columns]))).toMatchInlineSnapshot(`
    {
      "admin_keys": "id vault_id user_id name origin key_hash key_prefix created_at last_used_at",
      "agents": "id vault_id owner_id name description status mcp_enabled sealing_key_thumbprint key_hash key_prefix key_wrapped created_at last_used_at",
      "audit_chains": "vault_id head_seq head_hash start_seq start_hash shipped_seq",
      "audit_events": "vault_id seq id event_type outcome occurred_at agent_id proxy_id user_id service_name event_count detail hash",
      "grants": "id vault_id agent_id service_name grant_expires_at refresh_policy source_group_id created_at",
      "login_links": "token_hash vault_id user_id expires_at",
      "schema_migrations": "id name",
      "sealing_keys": "id wrapped",
      "sessions": "id vault_id user_id kind token_hash client created_at last_used_at expires_at",
      "tokens": "vault_id service_name token_type display_name description notes tags created_at updated_at",
      "users": "id vault_id email role is_owner created_at",
      "vaults": "id created_at locked_at",
      "webhook_links": "vault_id webhook_id url key_id key_wrapped pending_key_id pending_key_wrapped capabilities bound_at bound_by last_seen_at latency_ms",
      "webhook_log_heads": "vault_id webhook_id epoch seq hash seen_at",
    }
  `);
});

test("10. a page of another site cannot act in an owner's name", async () => {
  const place = await makePlace();
  const own = await serveOn(place);
  const token = new URL(own.running.ownerLink ?? '').searchParams.get('token');
  const signIn = await own.anyone('POST', '/api/login/link', { body: { token } });
  const cookie = signIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const from = (origin: string) =>
    own.anyone('POST', '/api/vault/lock', { headers: { cookie, ...(origin !== '' && { origin }) } });
  for (const origin of ['', 'null', 'https://evil.example']) expect((await from(origin)).status).toBe(403);
  expect((await from(BASE_URL)).status).toBe(200);
  await own.stop();
});
