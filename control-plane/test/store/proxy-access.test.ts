import { type Id, ManualClock, newId } from '@svault/shared';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ProxyPrecondition } from '../../src/audit/audit-writer.ts';
import type { Database } from '../../src/store/database.ts';
import type { Stores } from '../../src/core/stores.ts';
import { type StorePlace, makeStorePlace } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';
import { type StoredProxy, storeProxy } from './stored-proxy.ts';

// What a decision about a proxy reads, and what a use of it rests on when it is written down.

const NOW = '2026-11-20T12:00:00.000Z';
let clock: ManualClock;
let place: StorePlace;
let database: Database;
let account: StoredAccess;
let proxy: StoredProxy;

beforeAll(async () => {
  clock = new ManualClock(Date.parse(NOW));
  place = await makeStorePlace();
  database = await place.open(clock);
});
afterAll(async () => {
  await database.close();
  await place.remove();
});
beforeEach(async () => {
  account = await storeAccess(database, clock);
  proxy = await ofAccount();
});

const ofAccount = (more: Parameters<typeof storeProxy>[3] = {}): Promise<StoredProxy> => {
  const { vaultId, onlyIf } = account;
  return storeProxy(database, clock, { vaultId, webhookId: onlyIf.webhookId }, more);
};
const find = async (keyHash = proxy.keyHash) => database.proxyAccessStore.find(keyHash);
const change = <T>(work: (stores: Stores) => Promise<T>): Promise<T> =>
  database.unitOfWork.run(account.vaultId, work);

describe('the subject', () => {
  it('is all that there is to know, in one row', async () => {
    const { vaultId, onlyIf } = account;
    expect(await find()).toMatchObject({
      proxyId: proxy.proxyId,
      vaultId,
      upstreamAuthType: 'Token',
      upstreamUrl: 'https://mcp.example.com/mcp',
      serviceName: 'github',
      headerTemplates: '{"authorization":"Bearer ${TOKEN}"}',
      revision: 3,
      deliveredAs: null,
      agentId: null,
      agentStatus: null,
      lastUsedAt: null,
      vaultLockedAt: null,
      activeAgents: 1,
      proxies: 1,
      policies: null,
      policyUsage: null,
      policyRevision: 0,
      webhookId: onlyIf.webhookId,
      webhookUrl: 'https://vault.example.org',
      keyId: 'k1',
      keyWrapped: 'wrapped',
    });
  });

  it('is nobody’s where the key is unknown, or its proxy revoked', async () => {
    expect(await find('unknown')).toBeUndefined();
    const revoked = await ofAccount({ status: 'revoked' });
    expect(await find(revoked.keyHash)).toBeUndefined();
    expect(await find()).toMatchObject({ proxies: 1 });
  });

  it('knows the state of its agent, and the lock', async () => {
    const { agentId, vaultId } = account;
    const acting = await ofAccount({ agentId });
    expect(await find(acting.keyHash)).toMatchObject({ agentId, agentStatus: 'active' });
    await change(({ agents }) => agents.setStatus(vaultId, agentId, 'suspended'));
    await change(({ vaults }) => vaults.setLockedAt(vaultId, NOW));
    expect(await find(acting.keyHash)).toMatchObject({ agentStatus: 'suspended', vaultLockedAt: NOW });
  });

  it('has no webhook that never answered, and none where none is bound', async () => {
    const { vaultId } = account;
    await change(({ webhookLinks }) => webhookLinks.delete(vaultId));
    expect(await find()).toMatchObject({ webhookId: null, webhookUrl: null, keyId: null, keyWrapped: null });
  });

  it('of many keys at once is each one’s own', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, () => ofAccount()));
    const found = await Promise.all(made.map(({ keyHash }) => find(keyHash)));
    expect(found.map((subject) => subject?.proxyId)).toEqual(made.map(({ proxyId }) => proxyId));
  });
});

describe('a use', () => {
  const write = (onlyIf: ProxyPrecondition): Promise<boolean> =>
    database.auditCommit.write({
      event: {
        vaultId: account.vaultId,
        proxyId: proxy.proxyId,
        eventType: 'PROXY_CREDENTIAL_USE',
        outcome: 'success',
      },
      touchCaller: true,
      onlyIf,
    });
  const written = async (): Promise<number> =>
    (await database.stores.audit.after(account.vaultId, 0, 100)).length;

  it('is written down while it stands, and its time is the proxy’s last use', async () => {
    expect(await write(proxy.onlyIf)).toBe(true);
    expect([await written(), (await find())?.lastUsedAt]).toEqual([1, NOW]);
  });

  const ofItsAgent = (id: Id<'agt'>) => ({ agentId: id });
  it.each<readonly [string, (stores: Stores) => Promise<unknown>]>([
    ['the vault is locked', ({ vaults }) => vaults.setLockedAt(account.vaultId, NOW)],
    [
      'its agent is suspended',
      ({ agents }) => agents.setStatus(account.vaultId, account.agentId, 'suspended'),
    ],
    ['its agent is deleted', ({ agents }) => agents.markDeleted(account.vaultId, account.agentId)],
    ['the webhook is unbound', ({ webhookLinks }) => webhookLinks.delete(account.vaultId)],
  ])('is left out where %s meanwhile', async (_what, withdraw) => {
    proxy = await ofAccount(ofItsAgent(account.agentId));
    expect(await write(proxy.onlyIf)).toBe(true);
    await change(withdraw);
    expect([await write(proxy.onlyIf), await written()]).toEqual([false, 1]);
  });

  it('needs no webhook where it needs none', async () => {
    await change(({ webhookLinks }) => webhookLinks.delete(account.vaultId));
    expect(await write({ ...proxy.onlyIf, webhookId: null })).toBe(true);
  });

  it.each<readonly [string, Partial<ProxyPrecondition>]>([
    ['other settings of the proxy', { revision: 4 }],
    ['other policies', { policyRevision: 1 }],
    ['another agent', { agentId: newId('agt') }],
    ['another webhook', { webhookId: 'whk_other' }],
    ['another key', { keyHash: 'other' }],
  ])('is left out where it was decided under %s', async (_what, other) => {
    expect(await write({ ...proxy.onlyIf, ...other })).toBe(false);
    expect(await written()).toBe(0);
  });

  it('is left out where the proxy is revoked', async () => {
    const revoked = await ofAccount({ status: 'revoked' });
    expect([await write(revoked.onlyIf), await written()]).toEqual([false, 0]);
  });

  it('counts its uses with it: all, or none', async () => {
    const use = { ruleId: 'rul_1', targetType: 'proxy', targetId: proxy.proxyId, limit: 2 } as const;
    const uses = [use, { ...use, ruleId: 'rul_2', limit: 1 }];
    expect(await write({ ...proxy.onlyIf, uses })).toBe(true);
    expect(await write({ ...proxy.onlyIf, uses })).toBe(false);
    expect(await write({ ...proxy.onlyIf, uses: [use] })).toBe(true);
    expect(await write({ ...proxy.onlyIf, uses: [use] })).toBe(false);
    expect(await written()).toBe(2);
  });

  it('and an agent’s access that come together are each looked at by themselves', async () => {
    const asked = await Promise.all([
      write(proxy.onlyIf),
      database.auditCommit.write({
        event: account.event('github'),
        touchCaller: true,
        onlyIf: account.onlyIf,
      }),
      write({ ...proxy.onlyIf, revision: 9 }),
    ]);
    expect([asked, await written()]).toEqual([[true, true, false], 2]);
    expect((await find())?.lastUsedAt).toBe(NOW);
    expect((await database.stores.agents.get(account.vaultId, account.agentId))?.lastUsedAt).toBe(NOW);
  });
});
