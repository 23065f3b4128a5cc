import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { StoreTicket } from '@svault/compose/admin-client';
import { openPlain } from '@svault/server-kit/sqlite';
import { backupSqlite } from '@svault/server-kit/sqlite-backup';
import { secretForms, tracesOf } from '@svault/test-kit/secret-forms';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { operationsOf } from './support/api-operations.ts';
import { type Canary, formsOfKey, makeCanaries } from './support/canaries.ts';
import { databaseBytes, databasePath } from './support/database-files.ts';
import { cookieBy, registerClient } from './support/consent-page.ts';
import { BASE_URL, type Call, clientOf } from './support/management-service.ts';
import { mcpClientOf } from './support/mcp-steps.ts';
import {
  type ApprovedCode,
  type ClientSession,
  REDIRECT,
  approve,
  exchange,
  postOauth,
  refresh,
  sessionIn,
} from './support/oauth-client.ts';
import { storedState } from './support/stored-state.ts';
import { type PairAgent, agentOn, pathFor, putBypassingRecorder, take } from './support/pair-agents.ts';

/*
 * R17: canary secrets of every type are stored, fetched, replaced and deleted, errors are provoked on the way, and
 * then everything that the service wrote, logged, sent, received and answered is searched for them.
 */

const run = promisify(execFile);

/** A place to search, by its name. */
type Haystacks = Readonly<Record<string, Buffer>>;

let pair: TestPair;
let anyone: Call;
let admin: Call;
let agent: PairAgent;
let session: ApprovedCode & ClientSession & { readonly cookie: string };
/** Keys, links and tokens of every further kind. */
let others: readonly string[];
const answers: string[] = [];
const tickets: string[] = [];
const canaries = [...makeCanaries('first'), ...makeCanaries('second')];
const marks = canaries.flatMap((canary) => canary.marks);
/** What the service itself has; these must hold no canary. */
let service: Haystacks;
/** What both programs keep and log; these must hold no key either. */
let kept: Haystacks;

beforeAll(async () => {
  pair = await startPair({
    logLevel: 'trace',
    env: { SV_METRICS_LISTEN: '127.0.0.1:0', SV_BASE_URL: BASE_URL, SV_WEBHOOK_SERVICE_URL: BASE_URL },
  });
  const url = pair.controlPlaneUrl();
  anyone = remembering(clientOf(url));
  admin = remembering(clientOf(url, { authorization: `Bearer ${pair.adminKey}` }));
  agent = await agentOn(pair);
  others = await useOthers(url);
  await storeAndFetch();
  await replaceAndDelete();
  await provokeErrors();
  await misplaceKeys();
  await lookAtEverything();
  await everythingShipped();
  await collect();
});
afterAll(() => pair.close());

/** A client whose every answer is kept, heads and bodies. */
function remembering(call: Call): Call {
  return async (method, path, options) => {
    const answer = await call(method, path, options);
    answers.push([...answer.headers].join('\n'), answer.text);
    return answer;
  };
}

/** An MCP client's session, and one key, link and token of every further kind. */
async function useOthers(url: string): Promise<readonly string[]> {
  await admin('PATCH', `/api/agents/${agent.id}`, { body: { mcpEnabled: true } });
  const member = { email: 'member@example.org', role: 'member' };
  const { link } = (await admin('POST', '/api/members', { body: member })).json;
  const linkToken = new URL(link.url as string).searchParams.get('token') ?? '';
  await anyone('GET', `/login/link?token=${linkToken}`);
  const cookie = await cookieBy({ anyone }, link.url as string);
  const clientId = await registerClient({ anyone }, [REDIRECT]);
  const world = { service: { anyone, running: { url } }, cookie, clientId };
  const approved = await approve(world, agent.id);
  session = { ...approved, ...sessionIn(await exchange(world, approved), approved), cookie };
  const unused = await approve(world, agent.id);
  const next = sessionIn(await refresh(world, session), approved);

  const body = {
    name: 'p',
    upstreamUrl: 'https://mcp.example.com/',
    serviceName: 'github',
    allowMissing: true,
  };
  const { proxy, key: proxyKey } = (await admin('POST', '/api/proxies', { body })).json;
  await admin('POST', `/api/proxies/${proxy.id}/reveal-key`);
  await anyone('POST', '/api/proxy/mcp', { headers: { 'x-mcp-key': proxyKey } });
  const { key: adminKey } = (await admin('POST', '/api/admin-keys', { body: { name: 'second' } })).json;
  const ofClient = [unused.code, unused.codeVerifier, next.accessToken, next.refreshToken];
  return [proxyKey as string, adminKey as string, linkToken, ...ofClient];
}

async function store({ serviceName, body }: Canary): Promise<void> {
  const { tokenType } = body;
  const made = await admin('POST', '/api/tokens', { body: { serviceName, tokenType, tags: ['canary'] } });
  const { store: address } = made.json as { store: StoreTicket };
  tickets.push(address.ticket);
  expect(await putBypassingRecorder(pair, address, body)).toBe(200);
}

/** What each of the clients named in the specification's "must follow redirects" would be given. */
async function storeAndFetch(): Promise<void> {
  for (const [n, canary] of generation('first').entries()) {
    await store(canary);
    await admin('POST', `/api/agents/${agent.id}/grants`, {
      body: { allowMissing: true, serviceName: canary.serviceName },
    });
    const answer = await agent.ask(canary.serviceName);
    answers.push([...answer.headers].join('\n'), answer.text);
    const location = answer.headers.get('location') ?? '';
    tickets.push(new URL(location).searchParams.get('ticket') ?? '');
    expect((await take(pair, location)).json.token.accessToken).toBe(canary.delivered);
    expect((await take(pair, location)).status).toBe(401);
    expect(await throughCurl(canary.serviceName)).toBe(canary.delivered);
    const token = n % 2 === 0 ? session.accessToken : agent.apiKey;
    expect(await throughMcp(token, canary.serviceName)).toBe(canary.delivered);
    // No limit is met.
    pair.clock.advance(60_000);
  }
}

/** Every tool about a service, and the address that one of them gives. @returns what the webhook gave there */
async function throughMcp(token: string, service: string): Promise<string> {
  const client = mcpClientOf({ anyone }, token);
  for (const tool of ['list_credentials', 'whoami', 'show_credential', 'credential_history'])
    await client.call2025(tool, { service });
  const { credentialUrl } = (await client.call2026('get_credential', { service })).content as {
    credentialUrl: string;
  };
  tickets.push(new URL(credentialUrl).searchParams.get('ticket') ?? '');
  return (await take(pair, credentialUrl)).json.token.accessToken;
}

/** What a client of MCP is given on its way, and what a person is. */
const clientSecrets = (): readonly string[] => {
  const { accessToken, refreshToken, code, codeVerifier, cookie } = session;
  return [accessToken, refreshToken, code, codeVerifier, cookie.slice(cookie.indexOf('=') + 1)];
};

const generation = (generation: string): readonly Canary[] =>
  canaries.filter(({ serviceName }) => serviceName.endsWith(generation));

/** `curl -L` as an agent runs it; only that it reaches the webhook past the wiretap. */
async function throughCurl(serviceName: string): Promise<string> {
  const tap = new URL(pair.webhookUrl).host;
  const { stdout } = await run('curl', [
    ...['--silent', '--show-error', '--location', '--noproxy', '*'],
    ...['--connect-to', `${tap}:${new URL(pair.bypassingRecorder(pair.webhookUrl)).host}`],
    ...['--header', `Authorization: Bearer ${agent.apiKey}`],
    pair.controlPlaneUrl() + pathFor(serviceName),
  ]);
  return (JSON.parse(stdout) as { token: { accessToken: string } }).token.accessToken;
}

async function replaceAndDelete(): Promise<void> {
  for (const [index, { body, delivered }] of generation('second').entries()) {
    const { serviceName } = canaries[index] as Canary;
    const path = `/api/tokens/${serviceName}`;
    const { json } = await admin('POST', `${path}/store-ticket`);
    tickets.push(json.ticket as string);
    expect(await putBypassingRecorder(pair, json as StoreTicket, body)).toBe(200);
    const owners = await admin('POST', `${path}/credential-ticket`, { body: {} });
    expect((await take(pair, owners.json.url as string)).json.token.accessToken).toBe(delivered);
    await admin('PATCH', path, { body: { notes: 'replaced' } });
    if (index % 2 === 1) expect((await admin('DELETE', path)).json.webhook).toBe('deleted');
  }
}

/** Secrets at the wrong door, in the wrong form and at the wrong time: an error must not carry them on. */
async function provokeErrors(): Promise<void> {
  const [secret = ''] = marks;
  const named = { serviceName: 'misplaced', tokenType: 'PlainText' };
  for (const member of ['value', 'accessToken', 'privateKey', 'secret', 'notes\u0000'])
    expect((await admin('POST', '/api/tokens', { body: { ...named, [member]: secret } })).status).toBe(422);
  for (const rawBody of [secret, `{"value":"${secret}"`, `["${secret}"]`, secret.repeat(10_000)])
    expect((await admin('POST', '/api/tokens', { rawBody, headers: JSON_TYPE })).status).toBeGreaterThan(399);
  await admin('POST', '/api/tokens', { rawBody: secret, headers: { 'content-type': secret } });
  await anyone('POST', '/api/login/link', { body: { token: secret } });
  await anyone('GET', '/api/me', {
    headers: { authorization: `Bearer ${secret}`, cookie: `svault=${secret}` },
  });
  await anyone('GET', pathFor('github'), { headers: { 'x-agent-key': secret } });

  const { json } = await admin('POST', '/api/tokens', { body: { ...named, serviceName: 'refused' } });
  const address = json.store as StoreTicket;
  tickets.push(address.ticket);
  const wrong = { ...address, ticket: `${address.ticket}x` };
  for (const body of [
    { tokenType: 'PlainText', value: secret },
    { tokenType: 'PlainText', valeu: secret },
  ])
    expect(await putBypassingRecorder(pair, wrong, body)).toBe(401);
  expect(await putBypassingRecorder(pair, address, { tokenType: 'PlainText', valeu: secret })).toBe(400);

  await pair.stop('webhook');
  await admin('GET', '/api/webhook');
  expect((await agent.ask('plain-first')).status).toBe(503);
  await pair.start('webhook');
}

/** Keys and tickets where they do not belong: in addresses, which programs like to log, and at the other program. */
async function misplaceKeys(): Promise<void> {
  const outside = clientOf(pair.bypassingRecorder(pair.webhookUrl));
  const { accessToken, refreshToken, code, codeVerifier } = session;
  const ofSession = [accessToken, refreshToken, code, codeVerifier];
  for (const key of [agent.apiKey, pair.adminKey, ...ofSession, ...others, ...tickets.slice(0, 2)]) {
    // What has no prefix can be told from nothing else where it has no name either.
    const inPath = /^(?:sv(?:admin|agent|cli|clir|sess|sessr)|mcp)_|\./.test(key) ? [`/${key}`] : [''];
    const names = ['key', 'code', 'code_verifier', 'token', 'access_token', 'refresh_token'];
    const query = names.map((name) => `${name}=${key}`).join('&');
    for (const path of inPath) {
      for (const root of ['/nowhere', '/api/agents']) await admin('GET', `${root}${path}?${query}`);
      await outside('GET', `/nowhere${path}?key=${key}`);
    }
    for (const path of ['/login/link', '/api/mcp-oauth/authorize']) await admin('GET', `${path}?${query}`);
    await anyone('GET', `${pathFor('github')}&key=${key}`);
    await anyone('POST', '/api/login/link', { body: { token: key } });
    await mcpClientOf({ anyone }, `${key}x`).call2025('get_credential', { service: 'github', key });
    for (const endpoint of ['token', 'revoke', 'introspect'] as const)
      await postOauth({ anyone }, endpoint, { token: `${key}x`, client_id: key, grant_type: key });
    await anyone('POST', '/api/mcp-oauth/register', { body: { redirect_uris: [key], [key]: key } });
    await outside('GET', `/v1/credential?ticket=${key}x&key=${key}`, { headers: { 'x-agent-key': key } });
    await outside('POST', `/v1/storage?key=${key}`, {
      body: { key },
      headers: { authorization: `Bearer ${key}` },
    });
  }
}

const JSON_TYPE = { 'content-type': 'application/json' };

/** Asks every route that reads something, for what is there and for what is not. */
async function lookAtEverything(): Promise<void> {
  await admin('POST', '/api/webhook/rotate-secret');
  await admin('POST', `/api/agents/${agent.id}/reveal-key`);
  for (const { method, path } of await operationsOf(anyone)) {
    if (method !== 'GET') continue;
    for (const id of [agent.id, 'plain-first', 'jwt-first'])
      await admin('GET', path.replace('agt_AAAAAAAAAAAAAAAAAAAAAA', id));
  }
}

/** The webhook was away, so the shipper waits by the clock until it tries again. */
const everythingShipped = (): Promise<void> =>
  vi.waitFor(
    async () => {
      pair.clock.advance(1_000);
      const state = storedState(pair.databaseUrl);
      expect(await state.value('SELECT sum(head_seq - shipped_seq) FROM audit_chains')).toBe(0);
    },
    { timeout: 20_000 },
  );

async function collect(): Promise<void> {
  const state = storedState(pair.databaseUrl);
  const metrics = await (await fetch(`${pair.metricsUrl('control-plane')}/metrics`)).text();
  const openapi = (await anyone('GET', '/api/openapi.json')).text;
  service = {
    'its database and write-ahead log': await state.bytes(),
    ...(state.kind === 'sqlite' && { 'its backup': await backupOf(databasePath(pair)) }),
    'its log': Buffer.from(pair.logOf('control-plane')),
    'its metrics': Buffer.from(metrics),
    'its OpenAPI document': Buffer.from(openapi),
    'its answers': Buffer.from(answers.join('\n')),
    'its traffic with the webhook': pair.recorded(),
  };
  const { 'its answers': _shows, 'its traffic with the webhook': _carries, ...ofTheService } = service;
  kept = {
    ...ofTheService,
    "the webhook's database and write-ahead log": databaseBytes(join(pair.dir, 'webhook', 'webhook.db')),
    "the webhook's log": Buffer.from(pair.logOf('webhook')),
    "the webhook's metrics": Buffer.from(await (await fetch(`${pair.metricsUrl('webhook')}/metrics`)).text()),
  };
}

async function backupOf(path: string): Promise<Buffer> {
  const backup = `${path}.backup`;
  const db = openPlain(path);
  await backupSqlite(db, backup, {
    program: 'control-plane',
    masterKey: randomBytes(32),
    madeAt: '2026-11-22T12:00:00Z',
  });
  db.close();
  return readFileSync(backup);
}

/** Where any of these texts was found, in any form. */
function findings(haystacks: Haystacks, secrets: readonly string[]): string[] {
  return Object.entries(haystacks).flatMap(([where, bytes]) =>
    secrets.flatMap((secret) => tracesOf(secret, bytes).map((form) => `${where}: ${form}`)),
  );
}

/** The HMAC secrets that the webhook gave the service: in the answers that the wiretap saw. */
function hmacSecrets(): string[] {
  const found = pair
    .recorded()
    .toString('latin1')
    .matchAll(/"hmacSecret":"([A-Za-z0-9_-]{43})"/g);
  return [...found].map(([, secret = '']) => secret);
}

test('there is something to search', () => {
  for (const [where, bytes] of Object.entries({ ...service, ...kept }))
    expect([where, bytes.length > 500]).toEqual([where, true]);
  expect(service['its traffic with the webhook']?.includes('audit.append')).toBe(true);
  expect(service['its log']?.includes('"level":"debug"')).toBe(true);
  expect(marks.length).toBeGreaterThan(20);
});

// spec: The result carries no credential bytes.
test('no credential is anywhere at the service', () => {
  expect(findings(service, marks)).toEqual([]);
});

test('no credential lies open at the webhook either', () => {
  expect(findings(kept, marks)).toEqual([]);
});

describe('keys', () => {
  test('no agent key, admin key, ticket, set-up token or secret of a client is kept or logged by either program', () => {
    const keys = [agent.apiKey, pair.adminKey, pair.setupToken, ...clientSecrets(), ...others];
    expect(findings(kept, [...keys, ...tickets])).toEqual([]);
    // A signature alone would not open anything, but a ticket is not to be found in parts either.
    const parts = tickets.flatMap((ticket) => ticket.split('.').slice(1));
    expect(findings(kept, parts)).toEqual([]);
  });

  test('no agent key, admin key, ticket or secret of a client travels between the two', () => {
    const { 'its traffic with the webhook': wire = Buffer.alloc(0) } = service;
    const keys = [agent.apiKey, pair.adminKey, ...clientSecrets(), ...others, ...tickets];
    expect(findings({ wire }, keys)).toEqual([]);
  });

  test('no HMAC secret and no root key is kept or logged by either program', () => {
    const secrets = [...hmacSecrets(), ...Object.values(pair.masterKeys)];
    expect(secrets).toHaveLength(4);
    for (const [where, bytes] of Object.entries(kept))
      for (const secret of secrets)
        expect([where, formsOfKey(secret).filter((form) => bytes.includes(form))]).toEqual([where, []]);
  });

  test('a management answer shows a key only where it is made or revealed', () => {
    const text = answers.join('\n');
    expect(text.split(agent.apiKey)).toHaveLength(2);
    expect(text).not.toContain(pair.adminKey);
    for (const secret of hmacSecrets()) expect(text).not.toContain(secret);
  });
});

test('the database has these columns only, none of which can hold a credential', async () => {
  const state = storedState(pair.databaseUrl);
  const { kind } = state;
  const { background_claims: claims, webhook_outages: outages, ...columns } = await state.columns();
  // Unused where one process has the database.
  expect(claims).toBe(kind === 'postgres' ? 'work owner held_until' : undefined);
  expect(outages).toBe(
    kind === 'postgres' ? 'vault_id since changed_at next_probe_at probed_at ended_at' : undefined,
  );
  expect(columns).toMatchInlineSnapshot(`
    {
      "activity_counts": "vault_id agent_id bucket starts_at outcome requests",
      "admin_keys": "id vault_id user_id name origin key_hash key_prefix created_at last_used_at",
      "agents": "id vault_id owner_id name name_key name_hash description status mcp_enabled sealing_key_thumbprint key_hash key_prefix key_wrapped created_at last_used_at",
      "approvals": "id vault_id kind caller_type caller_id service_name request_key request reason asked_at expires_at decision decided_at decided_by uses valid_seconds webhook_approval_id url",
      "attention_marks": "user_id item_id seen_at",
      "audit_chains": "vault_id head_seq head_hash start_seq start_hash shipped_seq counted_seq",
      "audit_checkpoints": "vault_id webhook_id size note webhook_key signed_at refusal refused_at",
      "audit_events": "vault_id seq id event_type outcome occurred_at agent_id proxy_id user_id service_name event_count detail request_id channel address authenticated_by user_agent hash",
      "cli_logins": "id code_challenge redirect_uri user_code client address expires_at vault_id user_id code_hash address_group bytes asked_at",
      "cli_sessions": "session_id refresh_hash access_hash access_expires_at former_refresh_hash former_access_hash former_access_expires_at rotated_at rotation_seed_wrapped",
      "folder_tokens": "vault_id folder_id service_name",
      "folders": "id vault_id name name_key created_at updated_at",
      "grants": "id vault_id agent_id service_name grant_expires_at refresh_policy source_group_id created_at",
      "identities": "issuer subject user_id created_at",
      "login_links": "token_hash vault_id user_id expires_at",
      "notification_channels": "id vault_id type name target user_id address_wrapped created_at last_delivered_at last_failed_at last_error hour_started_at sent_in_hour",
      "notifications": "channel_id approval_id vault_id due_at tries is_summary",
      "oauth_access_tokens": "token_hash session_id issued_at expires_at",
      "oauth_clients": "id name client_uri redirect_uris created_at last_used_at address_group bytes asked_at",
      "oauth_codes": "code_hash vault_id user_id agent_id client_id client_name redirect_uri code_challenge audience expires_at",
      "oauth_sessions": "session_id agent_id client_id audience code_hash refresh_hash former_refresh_hash rotated_at rotation_seed_wrapped",
      "passwords": "user_id password_hash changed_at",
      "policies": "id vault_id name name_key enabled rules created_at updated_at",
      "policy_attachments": "vault_id target_type target_id policy_id",
      "policy_usage": "vault_id target_type target_id rule_id used",
      "providers": "id vault_id name token_url client_id target_hash auth_method algorithm key_id secret_wrapped created_at updated_at",
      "proxies": "id vault_id name name_key name_hash kind upstream_url upstream_auth_type service_name agent_id header_templates query_templates redirects region service status key_hash key_prefix key_wrapped created_at revoked_at last_used_at revision delivered_as",
      "proxy_removals": "vault_id webhook_id proxy_id due_at tries",
      "refresh_attempts": "vault_id service_name version failures next_at",
      "schema_migrations": "id name compatible_from applied_by",
      "sealing_keys": "id wrapped",
      "sessions": "id vault_id user_id kind token_hash client created_at last_used_at expires_at method",
      "setup_steps": "vault_id step state marked_at marked_by",
      "tokens": "vault_id service_name name_key token_type display_name description notes tags created_at updated_at upstream_rejected_at approval",
      "users": "id vault_id email name_key role is_owner created_at deleted_at",
      "vaults": "id created_at locked_at revision access_requests",
      "webhook_links": "vault_id webhook_id url key_id key_wrapped pending_key_id pending_key_wrapped capabilities bound_at bound_by last_seen_at latency_ms aside_until aside_reason aside_strikes",
      "webhook_log_heads": "vault_id webhook_id epoch seq hash seen_at",
    }
  `);
});

describe('the search itself', () => {
  test.each([0, 1, 2])('finds a planted canary in every form, at offset %i', (offset) => {
    const [planted = ''] = marks;
    const padding = 'x'.repeat(offset);
    const forms = [
      planted,
      encodeURIComponent(planted),
      Buffer.from(planted).toString('hex'),
      Buffer.from(padding + planted + padding).toString('base64'),
      Buffer.from(padding + planted).toString('base64url'),
    ];
    for (const form of forms)
      for (const [where, bytes] of Object.entries(service))
        expect([
          where,
          findings({ [where]: Buffer.concat([bytes, Buffer.from(form)]) }, [planted]).length,
        ]).not.toEqual([where, 0]);
  });

  test('finds a key that is bytes', () => {
    const [secret = ''] = hmacSecrets();
    const planted = Buffer.concat([Buffer.alloc(100), Buffer.from(secret, 'base64url')]);
    expect(formsOfKey(secret).some((form) => planted.includes(form))).toBe(true);
    expect(secretForms(secret)).toContain(secret);
  });

  // Last, since from here on the wiretap has seen a credential: here fetch goes to the webhook's own address.
  test('sees a credential on the wire as soon as an agent follows the redirect over the wiretap', async () => {
    const { serviceName } = generation('first')[0] as Canary;
    const { delivered: mark } = generation('second')[0] as Canary;
    const before = pair.recorded().length;
    const headers = { authorization: `Bearer ${agent.apiKey}` };
    const answer = await fetch(pair.controlPlaneUrl() + pathFor(serviceName), { headers });
    const { token } = (await answer.json()) as { token: { accessToken: string; tokenType: string } };
    expect([answer.status, answer.redirected, token.accessToken]).toEqual([200, true, mark]);
    expect(tracesOf(mark, pair.recorded().subarray(before))).toContain(mark);
  });
});
