import { ManualClock } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AccessPrecondition } from '../../src/audit/audit-writer.ts';
import type { Proxy } from '../../src/core/proxy.ts';
import type { Database } from '../../src/store/database.ts';
import type { Stores } from '../../src/core/stores.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';
import { storeProxy } from './stored-proxy.ts';

// The subject of a decision about a proxy, and the precondition of a use.

const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock(Date.parse(NOW));
let database: Database;
let account: StoredAccess;
let proxy: Proxy;
let proxyKey: string;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  account = await storeAccess(database, clock);
  ({ proxy, keyHash: proxyKey } = await ofAccount());
});

const ofAccount = (more: Partial<Proxy> = {}) => storeProxy(database, account.vaultId, more);
const find = async (keyHash = proxyKey) => database.proxyAccessStore.find(keyHash);
const change = <T>(work: (stores: Stores) => Promise<T>): Promise<T> =>
  database.unitOfWork.run(account.vaultId, work);

describe('the subject of a proxy', () => {
  it('has every member, read in one row', async () => {
    const { vaultId, webhookId } = account;
    expect(await find()).toMatchObject({
      proxyId: proxy.id,
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
      accountRevision: 0,
      accessRequests: 0,
      webhookId,
      webhookUrl: 'https://vault.example.org',
      keyId: 'k1',
      keyWrapped: 'wrapped',
    });
  });

  it('is undefined where the key is unknown, and says that a proxy is revoked', async () => {
    expect(await find('unknown')).toBeUndefined();
    const revoked = await ofAccount({ status: 'revoked' });
    expect(await find(revoked.keyHash)).toMatchObject({ proxyId: revoked.proxy.id, proxyStatus: 'revoked' });
    expect(await find()).toMatchObject({ proxyStatus: 'active', proxies: 1 });
  });

  it('has the status of its agent, and the vault lock', async () => {
    const { agentId, vaultId } = account;
    const acting = await ofAccount({ agentId });
    expect(await find(acting.keyHash)).toMatchObject({ agentId, agentStatus: 'active' });
    await change(({ agents }) => agents.setStatus(vaultId, agentId, 'suspended'));
    await change(({ vaults }) => vaults.setLockedAt(vaultId, NOW));
    expect(await find(acting.keyHash)).toMatchObject({ agentStatus: 'suspended', vaultLockedAt: NOW });
  });

  it('has no webhook where none is bound, or where it has not answered yet', async () => {
    const { vaultId } = account;
    await change(({ webhookLinks }) => webhookLinks.delete(vaultId));
    expect(await find()).toMatchObject({ webhookId: null, webhookUrl: null, keyId: null, keyWrapped: null });
  });

  it('is that of its own key when many are read at once', async () => {
    const made = await Promise.all(Array.from({ length: 30 }, () => ofAccount()));
    const found = await Promise.all(made.map(({ keyHash }) => find(keyHash)));
    expect(found.map((subject) => subject?.proxyId)).toEqual(made.map((each) => each.proxy.id));
  });
});

describe('the record of a use', () => {
  const write = (onlyIf: AccessPrecondition = account.onlyIf): Promise<boolean> =>
    database.auditCommit.write({
      event: {
        vaultId: account.vaultId,
        proxyId: proxy.id,
        eventType: 'PROXY_CREDENTIAL_USE',
        outcome: 'success',
      },
      touchCaller: true,
      onlyIf,
    });
  const written = async (): Promise<number> =>
    (await database.stores.audit.after(account.vaultId, 0, 100)).length;

  const writeAgent = (): Promise<boolean> =>
    database.auditCommit.write({ event: account.event('github'), touchCaller: true, onlyIf: account.onlyIf });
  const agentUsedAt = async () =>
    (await database.stores.agents.get(account.vaultId, account.agentId))?.lastUsedAt;

  it('writes neither event nor lastUsedAt where the account has changed, beside one that is written', async () => {
    const changed = write({ ...account.onlyIf, accountRevision: 1 });
    expect([await Promise.all([changed, writeAgent()]), await written()]).toEqual([[false, true], 1]);
    expect([(await find())?.lastUsedAt, await agentUsedAt()]).toEqual([null, NOW]);
  });

  it('keeps its own precondition when it is written together with an agent’s access', async () => {
    const asked = await Promise.all([
      write(),
      writeAgent(),
      write({ ...account.onlyIf, accountRevision: 9 }),
    ]);
    expect([asked, await written()]).toEqual([[true, true, false], 2]);
    expect([(await find())?.lastUsedAt, await agentUsedAt()]).toEqual([NOW, NOW]);
  });
});
