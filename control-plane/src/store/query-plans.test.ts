import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { silentLogger } from '@svault/server-kit/logger';
import { type Id, Secret, newId, systemClock } from '@svault/shared';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { AlreadyCounted } from '../core/activity.ts';
import type { Notification, StoredChannel } from '../core/notification.ts';
import type { PageRequest } from '../core/paging.ts';
import type { Policy } from '../core/policy.ts';
import type { StoredProvider } from '../core/provider.ts';
import type { Stores } from '../core/stores.ts';
import { createAccessStore, createProxyAccessStore } from './sqlite/access-store.ts';
import { createAuditCommit } from './sqlite/audit-commit.ts';
import { type OpenSqlite, openSqliteDatabase } from './sqlite/sqlite-database.ts';

// What a statement reads must not grow with the tables: none may go through one, and those of grants, which an account
// has by the hundred thousand, must take the index that leads to the few they are about.

const folder = mkdtempSync(join(tmpdir(), 'svault-plans-'));
const statements = new Set<string>();
let database: OpenSqlite;
let plans: readonly (readonly [sql: string, plan: string])[];

beforeAll(async () => {
  database = await openSqliteDatabase(join(folder, 'a.db'), [new Secret(new Uint8Array(32))], {
    clock: systemClock,
    logger: silentLogger,
    opener: 'server',
  });
  const { sqlite } = database;
  const prepare = sqlite.prepare.bind(sqlite);
  const watched: (sql: string) => unknown = (sql) => (statements.add(sql), prepare(sql));
  Object.assign(sqlite, { prepare: watched });
  createAccessStore(sqlite);
  createProxyAccessStore(sqlite);
  createAuditCommit(sqlite, createGroupCommit(sqlite), systemClock);
  // Without an event, the log is not searched further.
  await database.stores.audit.append({
    vaultId: VAULT,
    eventType: 'LOGIN',
    outcome: 'success',
    agentId: AGENT,
  });
  for (const call of CALLS) await call(database.stores);
  await database.answers();
  plans = [...statements].map((sql) => {
    const values = Array.from({ length: sql.split('?').length - 1 }, () => 'x');
    const steps = prepare<string[], { detail: string }>(`EXPLAIN QUERY PLAN ${sql}`).all(...values);
    return [sql, steps.map(({ detail }) => detail).join('\n')] as const;
  });
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

const [VAULT, USER, AGENT]: [Id<'vlt'>, Id<'usr'>, Id<'agt'>] = [newId('vlt'), newId('usr'), newId('agt')];
const [KEY, SESSION, GRANT]: [Id<'adk'>, Id<'ses'>, Id<'grt'>] = [newId('adk'), newId('ses'), newId('grt')];
const [LOGIN, CLIENT, FOLDER]: [Id<'clr'>, Id<'ocl'>, Id<'fld'>] = [newId('clr'), newId('ocl'), newId('fld')];
const PROXY: Id<'prx'> = newId('prx');
const FIRST_PAGE = { limit: 10, after: undefined };
const BY_TIME: PageRequest = { limit: 10, after: ['a', 'b'] };
const BY_NAME: PageRequest = { limit: 10, after: ['a'] };
const NAMED = { ...BY_TIME, name: 'n' };
/** As many as the longest list of ids in a statement that is no page. */
const TEN = Array.from({ length: 10 }, () => newId('grt') as string);
const LOG = { limit: 10, before: 5 };
const CLI_KEYS = { refreshHash: 'r', accessHash: 'a', accessExpiresAt: 't' };
const REMOVAL = { vaultId: VAULT, webhookId: 'w', proxyId: PROXY };
const ATTEMPT = { version: 1, failures: 0, nextAt: 't' };
const COUNT = { bucket: 'hour', startsAt: 't', outcome: 'denied', requests: 1 } as const;
const SERIES = { bucket: 'hour', from: 't', to: 'u' } as const;
const TARGET = { type: 'token', id: 's' } as const;
const OF_ACCOUNT = { vaultId: VAULT, name: 'n', createdAt: 't', updatedAt: 't' };
const POLICY: Policy = {
  ...OF_ACCOUNT,
  id: newId('pol'),
  enabled: true,
  rules: [{ id: newId('rul'), type: 'max_usage', limit: 1 }],
};
const PROVIDER: StoredProvider = {
  ...OF_ACCOUNT,
  id: newId('prv'),
  tokenUrl: 'u',
  clientId: 'c',
  keyId: undefined,
  secretWrapped: 'w',
  authMethod: 'client_secret_basic',
  algorithm: undefined,
};

const CHANNEL: StoredChannel = {
  ...{ id: newId('nch'), vaultId: VAULT, type: 'slack', name: 'n', target: 't', userId: undefined },
  ...{ createdAt: 't', lastDeliveredAt: undefined, lastFailedAt: undefined, lastError: undefined },
  addressWrapped: 'w',
};
const NOTIFICATION: Notification = {
  ...{ vaultId: VAULT, channelId: CHANNEL.id, approvalId: newId('apr') },
  ...{ dueAt: 't', tries: 0, isSummary: 0 },
};

const CALLS: readonly ((stores: Stores) => Promise<unknown>)[] = [
  (s) => s.activity.backlog({ after: undefined, limit: 10 }),
  (s) => s.activity.backlog({ after: VAULT, limit: 10 }),
  (s) =>
    s.activity
      .add(VAULT, { from: 0, to: 1, counts: [{ ...COUNT, agentId: AGENT }] })
      .catch((error: unknown) => expect(error).toBeInstanceOf(AlreadyCounted)),
  (s) => s.activity.read(VAULT, { ...SERIES, agentIds: undefined }),
  (s) => s.activity.read(VAULT, { ...SERIES, agentIds: [AGENT, AGENT] }),
  (s) => s.activity.largest(VAULT, ['t', 'u'], 10),
  (s) => s.activity.removeOld('hour', 't', 10),
  (s) => s.adminKeys.findByHash('h'),
  (s) => s.adminKeys.list(VAULT, BY_TIME),
  (s) => s.adminKeys.findFromSettings(USER),
  (s) => s.adminKeys.idsOfUser(USER),
  (s) => s.adminKeys.roleOf(VAULT, KEY),
  (s) => s.adminKeys.touch(KEY, 't'),
  (s) => s.adminKeys.remove(VAULT, KEY),
  (s) => s.agents.get(VAULT, AGENT),
  (s) => s.agents.list(VAULT, undefined, BY_TIME),
  (s) => s.agents.list(VAULT, 'suspended', BY_TIME),
  (s) => s.agents.list(VAULT, 'suspended', NAMED),
  (s) => s.agents.setStatus(VAULT, AGENT, 'active'),
  (s) => s.agents.markDeleted(VAULT, AGENT),
  (s) => s.agents.wrappedKey(VAULT, AGENT),
  (s) => s.approvals.get(VAULT, 'apr_1'),
  (s) => s.approvals.newestOf(VAULT, 'k'),
  (s) => s.approvals.ofWebhook(VAULT, TEN),
  (s) => s.approvals.decidedAmong(TEN as Id<'apr'>[]),
  (s) =>
    s.approvals.pendingOf({ vaultId: VAULT, callerType: 'agent', callerId: AGENT, serviceName: 's' }, 't'),
  (s) => s.approvals.list(VAULT, undefined, BY_TIME),
  (s) => s.approvals.list(VAULT, 't', BY_TIME),
  (s) => s.approvals.removeBefore('t', 10),
  (s) => s.approvals.removeOf(VAULT, { serviceName: 's' }),
  (s) => s.approvals.removeOf(VAULT, { callerId: AGENT }),
  (s) => s.approvals.removeOf(VAULT, { callerId: AGENT, serviceName: 's' }),
  (s) => s.attention.events(VAULT, 10),
  (s) => s.attention.expiringGrants(VAULT, { from: 't', to: 'u', limit: 10 }),
  (s) => s.attention.rejectedTokens(VAULT, 10),
  (s) => s.attention.seen(USER),
  (s) => s.attention.removeOfUser(USER),
  (s) => s.audit.scan(VAULT, {}, LOG),
  (s) => s.audit.scan(VAULT, { agentId: AGENT }, LOG),
  (s) => s.audit.scan(VAULT, { serviceName: 's', eventType: 'LOGIN', from: 'a', to: 'b' }, LOG),
  (s) => s.audit.scan(VAULT, { agentId: AGENT, serviceName: 's' }, LOG),
  (s) => s.audit.scan(VAULT, { agentId: AGENT, outcome: 'error', from: 'a' }, LOG),
  (s) => s.audit.after(VAULT, 1, 10),
  (s) => s.audit.backlog({ after: undefined, limit: 10 }),
  (s) => s.audit.backlog({ after: VAULT, limit: 10 }),
  (s) => s.audit.markShipped(VAULT, 1, 2),
  (s) => s.audit.chainOf(VAULT),
  (s) => s.audit.oldest({ after: undefined, limit: 10 }),
  (s) => s.audit.oldest({ after: VAULT, limit: 10 }),
  (s) => s.audit.cutStart(VAULT, { seq: 0, hash: 'h' }, { seq: 1, hash: 'h' }),
  (s) => s.auditCheckpoints.find(VAULT, 'w'),
  (s) => s.auditCheckpoints.backlog({ after: undefined, limit: 10 }),
  (s) => s.auditCheckpoints.backlog({ after: VAULT, limit: 10 }),
  (s) => s.cliLogins.findPending(LOGIN, 't'),
  (s) => s.cliLogins.approve(LOGIN, 't', { vaultId: VAULT, userId: USER, codeHash: 'h', expiresAt: 't' }),
  (s) => s.cliLogins.deny(LOGIN),
  (s) => s.cliLogins.findApproved('h'),
  (s) => s.cliLogins.take('h'),
  (s) => s.cliLogins.removeOfUser(USER),
  (s) => s.cliLogins.removeExpired('t'),
  (s) => s.cliLogins.noteAsked(LOGIN, 't'),
  (s) => s.cliLogins.evictWaiting({ maxBytes: -1, askedSince: 't' }),
  (s) => s.cliSessions.find('h'),
  (s) => s.cliSessions.rotate(SESSION, CLI_KEYS, { ...CLI_KEYS, rotatedAt: 't', wrappedSeed: 's' }),
  (s) => s.cliSessions.evictExpiredAccess('t'),
  (s) => s.identities.findUser({ issuer: 'i', subject: 's' }),
  (s) => s.identities.has(USER, 'i'),
  (s) => s.identities.removeOfUser(USER),
  (s) => s.grants.get(VAULT, AGENT, 's'),
  (s) => s.grants.list(VAULT, AGENT, BY_NAME),
  (s) => s.grants.list(VAULT, AGENT, FIRST_PAGE),
  (s) => s.grants.ofServices(VAULT, AGENT, ['s', 't']),
  (s) => s.grants.listAll(VAULT, BY_TIME),
  (s) => s.grants.countsOf(VAULT, 'agent', ['a', 'b']),
  (s) => s.grants.countsOf(VAULT, 'service', TEN),
  (s) => s.policies.attachmentCounts(TEN as Id<'pol'>[], 10),
  (s) => s.grants.removeAll(VAULT, TEN as Id<'grt'>[]),
  (s) => s.grants.remove(VAULT, GRANT),
  (s) => s.grants.removeOfAgent(VAULT, AGENT),
  (s) => s.grants.removeOfService(VAULT, 's'),
  (s) => s.loginLinks.find('h'),
  (s) => s.loginLinks.take('h'),
  (s) => s.loginLinks.removeExpired('t'),
  (s) => s.loginLinks.removeOfUser(USER),
  (s) => s.passwords.find(USER),
  (s) => s.passwords.findByEmail('e'),
  (s) => s.passwords.remove(USER),
  (s) => s.sessions.findByHash('console', 'h'),
  (s) => s.sessions.get(VAULT, SESSION),
  (s) => s.sessions.roleOf(VAULT, SESSION),
  (s) => s.sessions.ofUser(USER, 'oauth'),
  (s) => s.sessions.removeOfUser(USER, { kinds: ['oauth'], but: undefined }),
  (s) => s.sessions.removeOfUser(USER, { kinds: ['console', 'cli'], but: SESSION }),
  (s) => s.sessions.list(VAULT, {}, BY_TIME),
  (s) => s.sessions.list(VAULT, { userId: USER }, BY_TIME),
  (s) => s.sessions.list(VAULT, { agentId: AGENT }, BY_TIME),
  (s) => s.sessions.list(VAULT, { userId: USER, agentId: AGENT }, BY_TIME),
  (s) => s.sessions.touch(SESSION, 't'),
  (s) => s.sessions.remove(VAULT, SESSION, USER),
  (s) => s.sessions.removeExpired('t'),
  (s) => s.sessions.removeIdle('oauth', 't'),
  (s) => s.tokens.get(VAULT, 's'),
  (s) => s.tokens.ofServices(VAULT, ['s', 't']),
  (s) => s.tokens.approvals(VAULT, ['s', 't']),
  (s) => s.tokens.setApproval(VAULT, 's', undefined),
  (s) => s.tokens.list(VAULT, BY_NAME),
  (s) => s.tokens.list(VAULT, { ...BY_NAME, name: 'n' }),
  (s) => s.tokens.list(VAULT, { ...BY_NAME, tokenType: 'JWT', folderId: FOLDER }),
  (s) => s.tokens.update(VAULT, 's', { notes: 'n' }, 't'),
  (s) => s.tokens.remove(VAULT, 's'),
  (s) => s.users.get(VAULT, USER),
  (s) => s.users.findByEmail('e'),
  (s) => s.users.owners(),
  (s) => s.users.ownerOf(VAULT),
  (s) => s.users.list(VAULT, BY_TIME),
  (s) => s.users.list(VAULT, NAMED),
  (s) => s.users.setRole(VAULT, USER, 'member'),
  (s) => s.users.markDeleted(VAULT, USER, 't'),
  (s) => s.vaults.get(VAULT),
  (s) => s.vaults.setLockedAt(VAULT, undefined),
  (s) => s.vaults.setAccessRequests(VAULT, true),
  (s) => s.webhookLinks.find(VAULT),
  (s) => s.webhookLinks.withPendingKey({ after: undefined, limit: 10 }),
  (s) => s.webhookLinks.setAside({ vaultId: VAULT, webhookId: 'w' }, undefined),
  (s) => s.webhookLinks.noteSeen({ vaultId: VAULT, webhookId: 'w' }, { at: 't', latencyMs: 1 }),
  (s) => s.webhookLinks.logHead(VAULT, 'w'),
  (s) => s.webhookLinks.delete(VAULT),
  (s) => s.notifications.get(VAULT, CHANNEL.id),
  (s) => s.notifications.list(VAULT, undefined, BY_NAME),
  (s) => s.notifications.list(VAULT, USER, BY_NAME),
  (s) => s.notifications.count(VAULT, 'others', 10),
  (s) => s.notifications.count(VAULT, 'browsers', 10),
  (s) => s.notifications.browsersOf(VAULT, USER),
  (s) => s.notifications.noteDelivered(CHANNEL, 't'),
  (s) => s.notifications.noteFailed(CHANNEL, 't', 'e'),
  (s) => s.notifications.countMessage(CHANNEL, { now: 't', hourAgo: 't' }),
  (s) => s.notifications.enqueue({ id: newId('apr'), vaultId: VAULT, askedAt: 't' }),
  (s) => s.notifications.due('t', { vaultIds: [VAULT], channelIds: [CHANNEL.id] }, 10),
  (s) => s.notifications.claim(NOTIFICATION, 't'),
  (s) => s.notifications.makeSummary(NOTIFICATION),
  (s) => s.notifications.settle(NOTIFICATION),
  (s) => s.notifications.removeOfUser(VAULT, USER),
  (s) => s.notifications.remove(CHANNEL),
  (s) => s.oauthCodes.find('h'),
  (s) => s.oauthCodes.take('h'),
  (s) => s.oauthCodes.removeOfUser(USER),
  (s) => s.oauthCodes.removeExpired('t'),
  (s) => s.oauthSessions.find('h'),
  (s) => s.oauthSessions.findByCode('h'),
  (s) => s.oauthSessions.introspect('h'),
  (s) => s.oauthSessions.evictExpiredAccess('t'),
  (s) => s.oauthClients.find(CLIENT),
  (s) => s.oauthClients.touch(CLIENT, 't', 's'),
  (s) => s.oauthClients.removeUnused({ lastUsedAt: 't', neverUsedSince: 't' }),
  (s) => s.oauthClients.noteAsked(CLIENT, 't'),
  (s) => s.oauthClients.evictNeverUsed({ maxBytes: -1, askedSince: 't' }),
  (s) => s.agents.listAll(VAULT, BY_TIME),
  (s) => s.folders.get(VAULT, FOLDER),
  (s) => s.folders.list(VAULT, BY_TIME),
  (s) => s.folders.list(VAULT, NAMED),
  (s) => s.folders.list(VAULT, FIRST_PAGE),
  (s) => s.folders.count(VAULT, 10),
  (s) => s.folders.update(VAULT, FOLDER, { name: 'n', serviceNames: [] }, 't'),
  (s) => s.folders.remove(VAULT, FOLDER),
  (s) => s.folders.ofTokens(VAULT, ['s', 't']),
  (s) => s.folders.forgetToken(VAULT, 's'),
  (s) => s.names.of(VAULT, TEN),
  (s) => s.overview.counts(VAULT, { now: 't', soon: 'u', upTo: 10 }),
  (s) => s.setup.marks(VAULT),
  (s) => s.providers.get(VAULT, PROVIDER.id),
  (s) => s.providers.find(VAULT, 'u', 'c'),
  (s) => s.providers.list(VAULT, BY_TIME),
  (s) => s.providers.count(VAULT, 10),
  (s) => s.providers.replace(PROVIDER),
  (s) => s.providers.remove(VAULT, PROVIDER.id),
  (s) => s.refreshAttempts.ofServices(VAULT, ['s']),
  (s) => s.refreshAttempts.settle(VAULT, 's', ATTEMPT),
  (s) => s.refreshAttempts.forget('t'),
  (s) => s.webhookLinks.ofOpenVaults({ after: undefined, limit: 10 }),
  (s) => s.webhookLinks.ofOpenVaults({ after: VAULT, limit: 10 }),
  (s) => s.policies.get(VAULT, POLICY.id),
  (s) => s.policies.list(VAULT, undefined, BY_TIME),
  (s) => s.policies.list(VAULT, undefined, NAMED),
  (s) => s.policies.list(VAULT, TARGET, BY_TIME),
  (s) => s.policies.list(VAULT, TARGET, NAMED),
  (s) => s.policies.update(POLICY, { ...POLICY, rules: [] }),
  (s) => s.policies.remove(POLICY),
  (s) => s.policies.detach(POLICY, TARGET),
  (s) => s.policies.detachAll(VAULT, TARGET),
  (s) => s.policies.attachments(POLICY.id, BY_TIME),
  (s) => s.policies.countOf(VAULT, TARGET),
  (s) => s.policies.attachedAmong(POLICY, [TARGET, { type: 'token', id: 't' }]),
  (s) => s.policies.enabledAt(VAULT, 'agent', ['a', 'b']),
  ...[
    {},
    { by: 'credential' as const },
    { agentId: AGENT },
    { proxyId: PROXY },
    { serviceName: 's' },
    { agentId: AGENT, serviceName: 's' },
  ].flatMap((query) =>
    [undefined, ['a', 'b']].map((after) => (s: Stores) => s.reach.list(VAULT, query, { limit: 10, after })),
  ),
  (s) => s.reach.among(VAULT, { callerIds: [AGENT, PROXY], serviceNames: ['s', 't'] }),
  (s) => s.policies.inputOf(VAULT, { type: 'agent', id: 'a' }, 's'),
  (s) => s.proxies.get(VAULT, 'prx_1'),
  (s) => s.proxies.list(VAULT, BY_TIME),
  (s) => s.proxies.list(VAULT, NAMED),
  (s) => s.proxies.markRevoked(VAULT, PROXY, 't'),
  (s) => s.proxies.wrappedKey(VAULT, PROXY),
  (s) => s.proxies.noteDelivered({ vaultId: VAULT, id: PROXY, revision: 1 }, 'w 1'),
  (s) => s.proxies.forgetDelivery(VAULT, PROXY),
  (s) => s.proxies.forgetDeliveries(VAULT),
  (s) => s.proxies.remove(VAULT, PROXY),
  (s) => s.proxyRemovals.due('t', 10),
  (s) => s.proxyRemovals.postpone(REMOVAL, { dueAt: 't', tries: 1 }),
  (s) => s.proxyRemovals.settle(REMOVAL),
  (s) => s.oauthSessions.findByAccess('h'),
  (s) => s.oauthSessions.ofClient(VAULT, PROXY),
];

/** Indexes that hold due rows, or waiting ones that are bounded in bytes, only: going through them is the point; and what is no table, but a few rows. */
const SCANNED_ON_PURPOSE =
  /^SCAN (audit_chains USING .*INDEX audit_chains_un(shipp|count)ed|webhook_links USING .*INDEX webhook_links_pending|oauth_clients USING .*INDEX oauth_clients_waiting|ranked|looked_at|target|\(subquery-\d+\)|CONSTANT ROW|schema_migrations)/;

it('goes through no table', () => {
  expect(plans.length).toBeGreaterThan(50);
  const scans = plans.flatMap(([sql, plan]) =>
    plan
      .split('\n')
      .filter((step) => step.startsWith('SCAN') && !SCANNED_ON_PURPOSE.test(step))
      .map((step) => `${step}: ${sql}`),
  );
  expect(scans).toEqual([]);
});

it('finds rows by a list of ids without looking at others of the account', () => {
  const byIds = plans.filter(([sql]) => /"id" in \(\?, /.test(sql));
  expect(byIds.length).toBeGreaterThanOrEqual(2);
  for (const [sql, plan] of byIds)
    expect([
      sql,
      plan.split('\n').filter((step) => step.startsWith('SEARCH') && !/[ (]id=\?/.test(step)),
    ]).toEqual([sql, []]);
});

it("looks at an agent's events without looking at other agents'", () => {
  const ofAgent = plans.filter(([sql]) => /"audit_events".*"agent_id" = /.test(sql));
  expect(ofAgent.length).toBeGreaterThanOrEqual(4);
  for (const [sql, plan] of ofAgent) {
    const steps = plan.split('\n').filter((step) => step.startsWith('SEARCH audit_events'));
    const others = steps.filter((step) => !/agent_id=\?|seq=\?/.test(step));
    expect([sql, others]).toEqual([sql, []]);
  }
});

it("finds an agent's grants without looking at other agents'", () => {
  const ofAgent = plans.filter(([sql]) => /"grants".*"agent_id" = /.test(sql));
  expect(ofAgent.length).toBeGreaterThanOrEqual(4);
  for (const [sql, plan] of ofAgent) expect([sql, plan]).toEqual([sql, expect.stringMatching(/agent_id=\?/)]);
});

it('finds what needs attention without looking at the rest of a log or at other credentials', () => {
  const planOf = (part: string) => plans.find(([sql]) => sql.includes(part))?.[1];
  expect(planOf("event_type in ('TOKEN_REFRESHED'")).toContain('audit_events_of_attention');
  expect(planOf('"upstream_rejected_at" is not null')).toContain('tokens_rejected');
});

it('sorts nothing, evictions of waiting rows aside: lists come in the order of an index', () => {
  const sorting = plans.filter(([sql, plan]) => plan.includes('TEMP B-TREE') && !sql.includes(' OVER ('));
  expect(sorting).toEqual([]);
});
