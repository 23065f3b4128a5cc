import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLogger } from '@svault/server-kit/logger';
import { ManualClock } from '@svault/shared';
import { LogSink } from '@svault/test-kit/log-sink';
import { tracesOf } from '@svault/test-kit/secret-forms';
import { controlPlaneConfig } from '../src/config/config.ts';
import { startControlPlane } from '../src/serve.ts';
import { registerClient } from './support/consent-page.ts';
import {
  type ManagementService,
  type Place,
  clientOf,
  makePlace,
  startService,
} from './support/management-service.ts';
import { mcpClientOf } from './support/mcp-steps.ts';
import {
  REDIRECT,
  WIDE_LIMITS,
  approve,
  exchange,
  introspect,
  newAgent,
  postOauth,
  refresh,
  sessionIn,
} from './support/oauth-client.ts';

test('no file or log has a usable key, cookie or link', async () => {
  const place = await makePlace({ SV_LOG_LEVEL: 'trace', ...WIDE_LIMITS });
  const { secrets, log } = await useEverySecretOnce(place);
  expect(log).toContain('control plane serves');
  const names = await readdir(place.folder);
  const files = await Promise.all(names.map((name) => readFile(join(place.folder, name))));
  const seen = { log: Buffer.from(log), files: Buffer.concat(files), database: await place.state.bytes() };
  for (const [what, secret] of Object.entries(secrets))
    for (const [where, bytes] of Object.entries(seen))
      expect([what, where, tracesOf(secret, bytes)]).toEqual([what, where, []]);
  await place.remove();
});

/** Creates, uses and misuses every kind of secret of the management API. */
async function useEverySecretOnce(
  place: Place,
): Promise<{ secrets: Readonly<Record<string, string>>; log: string }> {
  const sink = new LogSink();
  const logger = createLogger({ name: 'control-plane', level: 'trace', format: 'json', destination: sink });
  const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
  const running = await startControlPlane(controlPlaneConfig(place.env), { clock, logger });
  const admin = clientOf(running.url, { authorization: `Bearer ${place.adminKey}` });
  const anyone = clientOf(running.url);
  const { agent, apiKey } = (await admin('POST', '/api/agents', { body: { name: 'a' } })).json;
  const upstream = { name: 'p', upstreamUrl: 'https://mcp.example.com/' };
  const ofToken = { ...upstream, serviceName: 'github' };
  const { proxy, key: proxyKey } = (await admin('POST', '/api/proxies', { body: ofToken })).json;
  await admin('POST', `/api/proxies/${proxy.id}/reveal-key`);
  await anyone('POST', '/api/proxy/mcp', { headers: { 'x-mcp-key': proxyKey } });
  await anyone('POST', `/api/proxy/mcp?key=${proxyKey}`);
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
  const client = await useEverySecretOfAClient(
    { place, clock, running, admin, anyone, stop: () => running.close() },
    `svault=${cookie}`,
  );
  await running.close();
  const masterKey = place.env['SV_MASTER_KEY'] ?? '';
  const secrets = {
    apiKey,
    proxyKey,
    adminKey: place.adminKey,
    secondKey,
    linkToken,
    cookie,
    masterKey,
    ...client,
  };
  return { secrets, log: sink.text };
}

/** Uses every secret of an OAuth client, once in its place and once in wrong places. */
async function useEverySecretOfAClient(
  service: ManagementService,
  cookie: string,
): Promise<Readonly<Record<string, string>>> {
  const { anyone } = service;
  const world = { service, cookie, clientId: await registerClient(service, [REDIRECT]) };
  const approved = await approve(world, await newAgent(world));
  const first = sessionIn(await exchange(world, approved), approved);
  const second = sessionIn(await refresh(world, first), approved);
  const unused = await approve(world, approved.agentId);
  const secrets = {
    code: approved.code,
    codeVerifier: approved.codeVerifier,
    unusedCode: unused.code,
    unusedVerifier: unused.codeVerifier,
    accessToken: first.accessToken,
    refreshToken: first.refreshToken,
    nextAccessToken: second.accessToken,
    nextRefreshToken: second.refreshToken,
  };
  for (const [name, secret] of Object.entries(secrets)) {
    const bearer = { authorization: `Bearer ${secret}` };
    await mcpClientOf(service, secret).call2025('whoami');
    await mcpClientOf(service, secret).call2026('get_credential', { service: 'nothing', [name]: secret });
    // What has no prefix can be told from nothing else where it has no name either.
    const inPath = secret.startsWith('sv') ? [`/nowhere/${secret}`] : [];
    for (const path of ['/api/agents/credentials', '/api/me', ...inPath])
      await anyone('GET', path, { headers: bearer });
    for (const parameter of ['code', 'code_verifier', 'token', 'access_token', 'refresh_token', 'key'])
      for (const [method, path] of [
        ['POST', '/api/agents/mcp'],
        ['POST', '/api/mcp-oauth/token'],
        ['GET', '/api/mcp-oauth/authorize'],
      ] as const)
        await anyone(method, `${path}?${parameter}=${secret}`);
    for (const endpoint of ['token', 'revoke', 'introspect'] as const) {
      await postOauth(service, endpoint, { client_id: secret, [name]: secret, grant_type: secret });
      await postOauth(service, endpoint, { token: `${secret}x` }, { 'content-type': secret });
    }
    const metadata = { redirect_uris: [secret], [secret]: secret };
    await anyone('POST', '/api/mcp-oauth/register', { body: metadata });
  }
  await introspect(world, second.accessToken);
  await postOauth(service, 'revoke', { token: second.refreshToken });
  return secrets;
}

test('the database has these columns only, none of which can hold a credential', async () => {
  const service = await startService();
  const { kind } = service.place.state;
  const {
    background_claims: claims,
    webhook_outages: outages,
    ...columns
  } = await service.place.state.columns();
  await service.stop();
  // Unused where one process has the database.
  expect(claims).toBe(kind === 'postgres' ? 'work owner held_until' : undefined);
  expect(outages).toBe(
    kind === 'postgres' ? 'vault_id since changed_at next_probe_at probed_at ended_at' : undefined,
  );
  expect(columns).toMatchInlineSnapshot(`
    {
      "admin_keys": "id vault_id user_id name origin key_hash key_prefix created_at last_used_at",
      "agents": "id vault_id owner_id name description status mcp_enabled sealing_key_thumbprint key_hash key_prefix key_wrapped created_at last_used_at",
      "audit_chains": "vault_id head_seq head_hash start_seq start_hash shipped_seq",
      "audit_events": "vault_id seq id event_type outcome occurred_at agent_id proxy_id user_id service_name event_count detail hash",
      "cli_logins": "id code_challenge redirect_uri user_code client address expires_at vault_id user_id code_hash address_group bytes asked_at",
      "cli_sessions": "session_id refresh_hash access_hash access_expires_at former_refresh_hash former_access_hash former_access_expires_at rotated_at rotation_seed_wrapped",
      "folder_tokens": "vault_id folder_id service_name",
      "folders": "id vault_id name created_at updated_at",
      "grants": "id vault_id agent_id service_name grant_expires_at refresh_policy source_group_id created_at",
      "identities": "issuer subject user_id created_at",
      "login_links": "token_hash vault_id user_id expires_at",
      "oauth_access_tokens": "token_hash session_id issued_at expires_at",
      "oauth_clients": "id name client_uri redirect_uris created_at last_used_at address_group bytes asked_at",
      "oauth_codes": "code_hash vault_id user_id agent_id client_id client_name redirect_uri code_challenge audience expires_at",
      "oauth_sessions": "session_id agent_id client_id audience code_hash refresh_hash former_refresh_hash rotated_at rotation_seed_wrapped",
      "passwords": "user_id password_hash changed_at",
      "policies": "id vault_id name enabled rules created_at updated_at",
      "policy_attachments": "vault_id target_type target_id policy_id",
      "policy_usage": "vault_id target_type target_id rule_id used",
      "providers": "id vault_id name token_url client_id target_hash auth_method algorithm key_id secret_wrapped created_at updated_at",
      "proxies": "id vault_id name upstream_url upstream_auth_type service_name agent_id header_templates status key_hash key_prefix key_wrapped created_at revoked_at last_used_at revision delivered_as",
      "proxy_removals": "vault_id webhook_id proxy_id due_at tries",
      "refresh_attempts": "vault_id service_name version failures next_at",
      "schema_migrations": "id name",
      "sealing_keys": "id wrapped",
      "sessions": "id vault_id user_id kind token_hash client created_at last_used_at expires_at method",
      "setup_steps": "vault_id step state marked_at marked_by",
      "tokens": "vault_id service_name token_type display_name description notes tags created_at updated_at upstream_rejected_at",
      "users": "id vault_id email role is_owner created_at deleted_at",
      "vaults": "id created_at locked_at revision",
      "webhook_links": "vault_id webhook_id url key_id key_wrapped pending_key_id pending_key_wrapped capabilities bound_at bound_by last_seen_at latency_ms aside_until aside_reason aside_strikes",
      "webhook_log_heads": "vault_id webhook_id epoch seq hash seen_at",
    }
  `);
});
