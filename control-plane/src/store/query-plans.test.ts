import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { silentLogger } from '@svault/server-kit/logger';
import { type Id, Secret, newId, systemClock } from '@svault/shared';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { PageRequest } from '../core/paging.ts';
import type { Policy } from '../core/policy.ts';
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
  await useEveryStore();
  await useOauthSessions();
  await useFoldersAndCounts();
  await useOauthClients();
  await usePolicies();
  await useRefreshing();
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

async function useEveryStore(): Promise<void> {
  const { stores } = database;
  const { adminKeys, agents, audit, grants, loginLinks, sessions, tokens, users, vaults, webhookLinks } =
    stores;
  const [vault, user, agent] = [newId('vlt'), newId('usr'), newId('agt')];
  const [key, session, grant]: [Id<'adk'>, Id<'ses'>, Id<'grt'>] = [newId('adk'), newId('ses'), newId('grt')];
  const { cliLogins, cliSessions, identities, passwords } = stores;
  const login: Id<'clr'> = newId('clr');
  const byTime: PageRequest = { limit: 10, after: ['a', 'b'] };
  const byName: PageRequest = { limit: 10, after: ['a'] };
  const log = { limit: 10, before: 5 };
  await adminKeys.findByHash('h');
  await adminKeys.list(vault, byTime);
  await adminKeys.findFromSettings(user);
  await adminKeys.idsOfUser(user);
  await adminKeys.roleOf(vault, key);
  await adminKeys.touch(key, 't');
  await adminKeys.remove(vault, key);
  await agents.get(vault, agent);
  await agents.list(vault, undefined, byTime);
  await agents.list(vault, 'suspended', byTime);
  await agents.setStatus(vault, agent, 'active');
  await agents.markDeleted(vault, agent);
  await agents.wrappedKey(vault, agent);
  await audit.scan(vault, {}, log);
  await audit.scan(vault, { agentId: agent }, log);
  await audit.scan(vault, { serviceName: 's', eventType: 'LOGIN', from: 'a', to: 'b' }, log);
  await audit.scan(vault, { agentId: agent, serviceName: 's' }, log);
  await audit.after(vault, 1, 10);
  await audit.backlog({ after: undefined, limit: 10 });
  await audit.backlog({ after: vault, limit: 10 });
  await audit.markShipped(vault, 1, 2);
  await audit.chainOf(vault);
  await audit.countActivity(vault, { since: 't', before: undefined, rows: 10 });
  await audit.countActivity(vault, { since: 't', before: 5, rows: 10 });
  await audit.oldest({ after: undefined, limit: 10 });
  await audit.oldest({ after: vault, limit: 10 });
  await audit.cutStart(vault, { seq: 0, hash: 'h' }, { seq: 1, hash: 'h' });
  await cliLogins.findPending(login, 't');
  await cliLogins.approve(login, 't', { vaultId: vault, userId: user, codeHash: 'h', expiresAt: 't' });
  await cliLogins.deny(login);
  await cliLogins.findApproved('h');
  await cliLogins.take('h');
  await cliLogins.removeOfUser(user);
  await cliLogins.removeExpired('t');
  await cliLogins.noteAsked(login, 't');
  await cliLogins.evictWaiting({ maxBytes: -1, askedSince: 't' });
  await cliSessions.find('h');
  const cliKeys = { refreshHash: 'r', accessHash: 'a', accessExpiresAt: 't' };
  await cliSessions.rotate(session, cliKeys, { ...cliKeys, rotatedAt: 't', wrappedSeed: 's' });
  await cliSessions.evictExpiredAccess('t');
  await identities.findUser({ issuer: 'i', subject: 's' });
  await identities.has(user, 'i');
  await identities.removeOfUser(user);
  await grants.get(vault, agent, 's');
  await grants.list(vault, agent, byName);
  await grants.list(vault, agent, { limit: 10, after: undefined });
  await grants.ofServices(vault, agent, ['s', 't']);
  await grants.listAll(vault, byTime);
  await grants.removeAll(vault, [grant]);
  await grants.remove(vault, grant);
  await grants.removeOfAgent(vault, agent);
  await grants.removeOfService(vault, 's');
  await loginLinks.find('h');
  await loginLinks.take('h');
  await loginLinks.removeExpired('t');
  await loginLinks.removeOfUser(user);
  await passwords.find(user);
  await passwords.findByEmail('e');
  await passwords.remove(user);
  await sessions.findByHash('console', 'h');
  await sessions.get(vault, session);
  await sessions.roleOf(vault, session);
  await sessions.ofUser(user, 'oauth');
  await sessions.removeOfUser(user, { kinds: ['oauth'], but: undefined });
  await sessions.removeOfUser(user, { kinds: ['console', 'cli'], but: session });
  await sessions.list(vault, undefined, byTime);
  await sessions.list(vault, user, byTime);
  await sessions.touch(session, 't');
  await sessions.remove(vault, session, user);
  await sessions.removeExpired('t');
  await sessions.removeIdle('oauth', 't');
  await tokens.get(vault, 's');
  await tokens.ofServices(vault, ['s', 't']);
  await tokens.list(vault, byName);
  await tokens.update(vault, 's', { notes: 'n' }, 't');
  await tokens.remove(vault, 's');
  await users.get(vault, user);
  await users.findByEmail('e');
  await users.owners();
  await users.list(vault, byTime);
  await users.setRole(vault, user, 'member');
  await users.markDeleted(vault, user, 't');
  await vaults.get(vault);
  await vaults.setLockedAt(vault, undefined);
  await webhookLinks.find(vault);
  await webhookLinks.withPendingKey({ after: undefined, limit: 10 });
  await webhookLinks.setAside({ vaultId: vault, webhookId: 'w' }, undefined);
  await webhookLinks.noteSeen({ vaultId: vault, webhookId: 'w' }, { at: 't', latencyMs: 1 });
  await webhookLinks.logHead(vault, 'w');
  await webhookLinks.delete(vault);
  await database.answers();
}

async function useOauthSessions(): Promise<void> {
  const { oauthCodes, oauthSessions } = database.stores;
  await oauthCodes.find('h');
  await oauthCodes.take('h');
  await oauthCodes.removeOfUser(newId('usr'));
  await oauthCodes.removeExpired('t');
  await oauthSessions.find('h');
  await oauthSessions.findByCode('h');
  await oauthSessions.introspect('h');
  await oauthSessions.evictExpiredAccess('t');
}

async function useOauthClients(): Promise<void> {
  const { oauthClients } = database.stores;
  const client: Id<'ocl'> = newId('ocl');
  await oauthClients.find(client);
  await oauthClients.touch(client, 't', 's');
  await oauthClients.removeUnused({ lastUsedAt: 't', neverUsedSince: 't' });
  await oauthClients.noteAsked(client, 't');
  await oauthClients.evictNeverUsed({ maxBytes: -1, askedSince: 't' });
}

async function useFoldersAndCounts(): Promise<void> {
  const { agents, folders, overview, setup } = database.stores;
  const vault = newId('vlt');
  const folder: Id<'fld'> = newId('fld');
  await agents.listAll(vault, { limit: 10, after: ['a', 'b'] });
  await folders.get(vault, folder);
  await folders.list(vault, { limit: 10, after: ['a', 'b'] });
  await folders.list(vault, { limit: 10, after: undefined });
  await folders.count(vault, 10);
  await folders.update(vault, folder, { name: 'n', serviceNames: [] }, 't');
  await folders.remove(vault, folder);
  await folders.ofTokens(vault, ['s', 't']);
  await folders.forgetToken(vault, 's');
  await overview.counts(vault, { now: 't', soon: 'u', upTo: 10 });
  await setup.marks(vault);
}

async function useRefreshing(): Promise<void> {
  const { providers, refreshAttempts, webhookLinks } = database.stores;
  const [vaultId, id]: [Id<'vlt'>, Id<'prv'>] = [newId('vlt'), newId('prv')];
  const texts = { name: 'n', tokenUrl: 'u', clientId: 'c', keyId: undefined, secretWrapped: 'w' };
  const times = { createdAt: 't', updatedAt: 't' };
  const method = { authMethod: 'client_secret_basic', algorithm: undefined } as const;
  await providers.get(vaultId, id);
  await providers.find(vaultId, 'u', 'c');
  await providers.list(vaultId, { limit: 10, after: ['a', 'b'] });
  await providers.count(vaultId, 10);
  await providers.replace({ id, vaultId, ...texts, ...method, ...times });
  await providers.remove(vaultId, id);
  const attempt = { version: 1, failures: 0, nextAt: 't' };
  await refreshAttempts.ofServices(vaultId, ['s']);
  await refreshAttempts.settle(vaultId, 's', attempt);
  await refreshAttempts.forget('t');
  await webhookLinks.ofOpenVaults({ after: undefined, limit: 10 });
  await webhookLinks.ofOpenVaults({ after: vaultId, limit: 10 });
}

async function usePolicies(): Promise<void> {
  const { policies, proxies } = database.stores;
  const [vaultId, id] = [newId('vlt'), newId('pol')];
  const target = { type: 'token', id: 's' } as const;
  const twoParts: PageRequest = { limit: 10, after: ['a', 'b'] };
  const policy: Policy = {
    id,
    vaultId,
    name: 'p',
    enabled: true,
    rules: [{ id: newId('rul'), type: 'max_usage', limit: 1 }],
    createdAt: 't',
    updatedAt: 't',
  };
  await policies.get(vaultId, id);
  await policies.list(vaultId, undefined, twoParts);
  await policies.list(vaultId, target, twoParts);
  await policies.update(policy, { ...policy, rules: [] });
  await policies.remove(policy);
  await policies.detach(policy, target);
  await policies.detachAll(vaultId, target);
  await policies.attachments(id, twoParts);
  await policies.countOf(vaultId, target);
  await policies.inputOf(vaultId, { type: 'agent', id: 'a' }, 's');
  await proxies.get(vaultId, 'prx_1');
  await useProxies(vaultId);
}

async function useProxies(vaultId: Id<'vlt'>): Promise<void> {
  const { oauthSessions, proxies, proxyRemovals, users } = database.stores;
  const proxyId: Id<'prx'> = newId('prx');
  const removal = { vaultId, webhookId: 'w', proxyId };
  await proxies.list(vaultId, { limit: 10, after: ['a', 'b'] });
  await proxies.markRevoked(vaultId, proxyId, 't');
  await proxies.wrappedKey(vaultId, proxyId);
  await proxies.noteDelivered({ vaultId, id: proxyId, revision: 1 }, 'w 1');
  await proxies.forgetDelivery(vaultId, proxyId);
  await proxies.forgetDeliveries(vaultId);
  await proxies.remove(vaultId, proxyId);
  await proxyRemovals.due('t', 10);
  await proxyRemovals.postpone(removal, { dueAt: 't', tries: 1 });
  await proxyRemovals.settle(removal);
  await oauthSessions.findByAccess('h');
  await oauthSessions.ofClient(vaultId, proxyId);
  await users.ownerOf(vaultId);
}

/** Indexes that hold due rows, or waiting ones that are bounded in bytes, only: going through them is the point; and what is no table, but a few rows. */
const SCANNED_ON_PURPOSE =
  /^SCAN (audit_chains USING .*INDEX audit_chains_unshipped|webhook_links USING .*INDEX webhook_links_pending|oauth_clients USING .*INDEX oauth_clients_waiting|ranked|looked_at|target|\(subquery-\d+\)|CONSTANT ROW|schema_migrations)/;

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

it("finds an agent's grants without looking at other agents'", () => {
  const ofAgent = plans.filter(([sql]) => /"grants".*"agent_id" = /.test(sql));
  expect(ofAgent.length).toBeGreaterThanOrEqual(4);
  for (const [sql, plan] of ofAgent) expect([sql, plan]).toEqual([sql, expect.stringMatching(/agent_id=\?/)]);
});

it('sorts nothing, evictions of waiting rows aside: lists come in the order of an index', () => {
  const sorting = plans.filter(([sql, plan]) => plan.includes('TEMP B-TREE') && !sql.includes(' OVER ('));
  expect(sorting).toEqual([]);
});
