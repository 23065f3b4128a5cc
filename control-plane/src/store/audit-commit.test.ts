import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGroupCommit } from '@svault/server-kit/group-commit';
import { ManualClock, Secret, newId } from '@svault/shared';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { AuditEntry } from '../audit/audit-writer.ts';
import { createAuditCommit } from './audit-commit-sqlite.ts';
import { type Database, openDatabase } from './database.ts';
import { createUnitOfWork } from './unit-of-work-kysely.ts';
import type { Stores } from '../unit-of-work.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock(Date.parse(NOW));
const folder = mkdtempSync(join(tmpdir(), 'svault-commit-'));
let database: Database;
let vaultId = newId('vlt');
let agentId = newId('agt');
let entry: AuditEntry;
let change: <T>(work: (stores: Stores) => Promise<T>) => Promise<T>;

const stored = (hash: string) => ({ keyHash: hash, keyPrefix: 'svagent_', keyWrapped: 'wrapped' });

beforeAll(async () => {
  database = await openDatabase(join(folder, 'a.db'), [new Secret(new Uint8Array(32))]);
  change = (work) => createUnitOfWork(database.kysely, clock).runAcross(work);
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true });
});

beforeEach(async () => {
  [vaultId, agentId] = [newId('vlt'), newId('agt')];
  const [userId, grantId] = [newId('usr'), newId('grt')];
  const [keyHash, webhookId] = [`hash of ${agentId}`, `whk of ${vaultId}`];
  await change(async ({ agents, grants, users, vaults, webhookLinks }) => {
    await vaults.add({ id: vaultId, createdAt: NOW });
    await users.add({ id: userId, vaultId, email: userId, role: 'admin', isOwner: true, createdAt: NOW });
    await agents.add({
      id: agentId,
      vaultId,
      ownerId: userId,
      name: 'a',
      description: '',
      status: 'active',
      mcpEnabled: false,
      sealingKeyThumbprint: undefined,
      createdAt: NOW,
      lastUsedAt: undefined,
      ...stored(keyHash),
    });
    await grants.addAll([
      {
        id: grantId,
        vaultId,
        agentId,
        serviceName: 'github',
        grantExpiresAt: undefined,
        refreshPolicy: 'none',
        sourceGroupId: undefined,
        createdAt: NOW,
      },
    ]);
    await webhookLinks.insert({
      vaultId,
      webhookId,
      url: 'https://vault.example.org',
      key: { id: 'k1', wrapped: 'wrapped' },
      pendingKey: undefined,
      capabilities: [],
      boundAt: NOW,
      boundBy: userId,
      lastSeenAt: NOW,
      latencyMs: 1,
    });
  });
  entry = {
    event: {
      vaultId,
      agentId,
      eventType: 'AGENT_CREDENTIAL_ACCESS',
      outcome: 'success',
      serviceName: 'github',
    },
    touchAgent: true,
    provided: { keyHash, grantId, webhookId },
  };
});

const commit = async (...entries: AuditEntry[]): Promise<readonly AuditEntry[]> => {
  const { sqlite } = database;
  return [...(await createAuditCommit(sqlite, createGroupCommit(sqlite), clock).commit(() => entries))];
};
const written = (): unknown =>
  database.sqlite.prepare('SELECT count(*) FROM audit_events WHERE agent_id = ?').pluck().get(agentId);

it('writes an access that still stands', async () => {
  expect(await commit(entry)).toEqual([]);
  expect(written()).toBe(1);
});

const withdrawals: readonly (readonly [string, (stores: Stores) => Promise<unknown>])[] = [
  ['suspended', ({ agents }) => agents.setStatus(vaultId, agentId, 'suspended')],
  ['deleted', ({ agents }) => agents.markDeleted(vaultId, agentId)],
  ['given another key', ({ agents }) => agents.setKey(vaultId, agentId, stored('another'))],
  ['left without its grant', ({ grants }) => grants.removeOfAgent(vaultId, agentId)],
  ['locked out with its vault', ({ vaults }) => vaults.setLockedAt(vaultId, NOW)],
  ['without a webhook', ({ webhookLinks }) => webhookLinks.delete(vaultId)],
];
it.each(withdrawals)('leaves out the access of an agent that was %s meanwhile', async (_what, withdraw) => {
  await change(withdraw);
  const other: AuditEntry = { ...entry, provided: undefined };
  expect(await commit(entry, other)).toEqual([entry]);
  expect(written()).toBe(1);
});
