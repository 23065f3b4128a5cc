import { join } from 'node:path';
import { tempDir } from '@svault/test-kit/temp-dir';
import { type TestPair, startPair } from '@svault/test-kit/pair';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PlainUpstream, startPlainUpstream } from '../proxy-clients/plain-upstream.ts';
import { cookieBy, registerClient } from '../support/consent-page.ts';
import { inDatabase } from '../support/database-files.ts';
import { BASE_URL, type Call, clientOf } from '../support/management-service.ts';
import { mcpClientOf } from '../support/mcp-steps.ts';
import { emptyTarget } from '../support/move-source.ts';
import {
  type ClientSession,
  REDIRECT,
  approve,
  exchange,
  refresh,
  sessionIn,
} from '../support/oauth-client.ts';
import { type PairAgent, agentOn, storeOn } from '../support/pair-agents.ts';
import { PROXY, type TestProxy, proxyOn } from '../support/proxy-steps.ts';
import { command } from '../support/run-program.ts';
import { type StoredState, storedState } from '../support/stored-state.ts';

// A pair that began on SQLite, with its control plane moved to PostgreSQL in the middle.

const SECRET = 'a secret of the owner';
const dir = tempDir();
const received: (string | undefined)[] = [];
let pair: TestPair;
let target: string;
let state: StoredState;
let upstream: PlainUpstream;
let agent: PairAgent;
let suspended: PairAgent;
let proxy: TestProxy;
let session: ClientSession;
let cookie: string;
/** Of the log before the move. */
let former: readonly { readonly id: string; readonly hash: string }[];

const admin: Call = (...request) =>
  clientOf(pair.controlPlaneUrl(), { authorization: `Bearer ${pair.adminKey}` })(...request);
const anyone: Call = (...request) => clientOf(pair.controlPlaneUrl())(...request);
const events = (from: StoredState) =>
  from.rows<{ id: string; hash: string }>('SELECT id, hash FROM audit_events ORDER BY seq');

async function made(path: string, body: object): Promise<{ readonly id: string }> {
  const { status, json, text } = await admin('POST', path, { body });
  if (status !== 201 && status !== 200) throw new Error(`POST ${path} answered ${status}: ${text}`);
  return json as { id: string };
}

beforeAll(async () => {
  const databaseUrl = `sqlite:${join(dir.path, 'control-plane.db')}`;
  pair = await startPair({
    logLevel: 'silent',
    env: { SV_DATABASE_URL: databaseUrl, SV_BASE_URL: BASE_URL, SV_WEBHOOK_SERVICE_URL: BASE_URL },
  });
  upstream = await startPlainUpstream((req, res) => {
    received.push(req.headers.authorization);
    res.end('{}');
  });
  await storeOn(pair, 'github', { tokenType: 'PlainText', value: SECRET, allowedHosts: [upstream.origin] });
  [agent, suspended] = [await agentOn(pair, 'github'), await agentOn(pair, 'github')];
  await admin('POST', `/api/agents/${suspended.id}/suspend`);
  const policy = await made('/api/policies', {
    name: 'three',
    enabled: true,
    rules: [{ type: 'max_usage', limit: 3 }],
  });
  await made(`/api/policies/${policy.id}/attachments`, { targetType: 'agent', targetId: agent.id });
  expect((await agent.fetch('github')).json.token.accessToken).toBe(SECRET);
  proxy = await proxyOn({ running: { url: pair.controlPlaneUrl() }, admin }, { upstreamUrl: upstream.url });
  expect((await proxy.send('tools/list')).status).toBe(200);
  await made('/api/folders', { name: 'a folder', serviceNames: ['github'] });
  const client = { tokenUrl: 'https://auth.example.org/token', clientId: 'c' };
  await made('/api/providers', {
    name: 'p',
    ...client,
    authMethod: 'client_secret_basic',
    clientSecret: 's',
  });
  await made('/api/notifications', { type: 'webhook', name: 'n', url: 'https://10.0.0.1/x' });
  const member = { email: 'member@example.org', role: 'member' };
  const { link } = (await admin('POST', '/api/members', { body: member })).json;
  cookie = await cookieBy({ anyone }, link.url as string);
  const acting = (await admin('POST', '/api/agents', { body: { name: 'acting', mcpEnabled: true } })).json
    .agent;
  const clientId = await registerClient({ anyone }, [REDIRECT]);
  const url = pair.controlPlaneUrl();
  const world = { service: { anyone, running: { url } }, cookie, clientId };
  const approved = await approve(world, acting.id as string);
  const first = sessionIn(await exchange(world, approved), approved);
  session = sessionIn(await refresh(world, first), first);

  await pair.stop('control-plane');
  former = await events(storedState(databaseUrl));
  target = await emptyTarget();
  const settings = {
    SV_BASE_URL: BASE_URL,
    SV_DATABASE_URL: databaseUrl,
    SV_DATABASE_URL_NEXT: target,
    SV_MASTER_KEY: pair.masterKeys['control-plane'],
  };
  expect(await command(settings, 'move-to-postgres')).toMatchObject({ code: 0 });
  state = storedState(target);
  await expect(pair.start('control-plane')).rejects.toThrow('was moved to PostgreSQL');
  await pair.start('control-plane', { SV_DATABASE_URL: target });
});
afterAll(async () => {
  await pair.close();
  await upstream.close();
  dir.remove();
});

test('an agent goes on with its key over REST, and policies with their counts', async () => {
  for (let n = 0; n < 2; n++) expect((await agent.fetch('github')).json.token.accessToken).toBe(SECRET);
  expect((await agent.ask('github')).json).toMatchObject({ code: 'POLICY_DENIED' });
  expect((await suspended.ask('github')).json).toMatchObject({ code: 'AGENT_INACTIVE' });
  expect((await admin('POST', `/api/agents/${agent.id}/reveal-key`)).json).toEqual({ apiKey: agent.apiKey });
});

test('an MCP client goes on with its session, and refreshes it', async () => {
  expect((await mcpClientOf({ anyone }, session.accessToken).call2025('whoami')).status).toBe(200);
  const next = sessionIn(await refresh({ service: { anyone } }, session), session);
  expect((await mcpClientOf({ anyone }, next.accessToken).call2025('whoami')).status).toBe(200);
});

test('a proxy goes on with its key, and a browser with its session', async () => {
  const before = received.length;
  const key = { authorization: `Bearer ${proxy.key}` };
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
  expect((await anyone('POST', PROXY, { headers: key, body })).status).toBe(200);
  expect(received.slice(before)).toEqual([`Bearer ${SECRET}`]);
  expect((await anyone('GET', '/api/me', { headers: { cookie } })).json).toMatchObject({
    email: 'member@example.org',
  });
});

test('the binding and the log go on: the webhook has every event once, and nothing contradicts it', async () => {
  expect((await admin('POST', '/api/webhook/rotate-secret')).status).toBe(200);
  expect((await admin('GET', '/api/webhook')).json).toMatchObject({ reachable: true });
  await expect
    .poll(async () => {
      pair.clock.advance(1_000);
      return state.value('SELECT sum(head_seq - shipped_seq) FROM audit_chains');
    })
    .toBe(0);
  const now = await events(state);
  expect(now.slice(0, former.length)).toEqual(former);
  expect(now.length).toBeGreaterThan(former.length);
  const shipped = inDatabase(join(pair.dir, 'webhook', 'webhook.db'), (db) =>
    db.prepare<[], string>("SELECT id FROM audit_log WHERE source = 'service' ORDER BY seq").pluck().all(),
  );
  expect(shipped).toEqual(now.map(({ id }) => id));
  expect(
    await state.value("SELECT count(*) FROM audit_events WHERE event_type = 'WEBHOOK_LOG_CONTRADICTION'"),
  ).toBe(0);
  expect((await admin('GET', '/api/audit/verify')).json).toMatchObject({ intact: true });
});

test('verify-database finds the moved database consistent, beside the running serve', async () => {
  const settings = {
    SV_BASE_URL: BASE_URL,
    SV_DATABASE_URL: target,
    SV_MASTER_KEY: pair.masterKeys['control-plane'],
  };
  const { code, stdout, stderr } = await command(settings, 'verify-database');
  expect([code, stderr]).toEqual([0, '']);
  // Of three agents, a proxy, a provider, a channel, the webhook and a refreshed session.
  expect(stdout).toMatch(/ intact, \d+ events.*\n8 wrapped values looked at\nThe database is consistent\./);
});
