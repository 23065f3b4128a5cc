import { type Id, ManualClock, formatTime, newId } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import type { AgentCredential } from '../../src/core/agent.ts';
import type { Database } from '../../src/store/database.ts';
import { useStore } from './open-store.ts';
import {
  AUDIENCE,
  type StoredAccess,
  type StoredSession,
  storeAccess,
  storeSession,
} from './stored-access.ts';

// The subject of a decision, by key and by session.

const HOUR_MS = 3_600_000;
const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let database: Database;
let stored: StoredAccess;
let session: StoredSession;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  stored = await storeAccess(database, clock);
  session = await storeSession(database, clock, stored, HOUR_MS);
});

const find = async (credential: AgentCredential, serviceName = 'github', nowMs = clock.now()) =>
  database.accessStore.find(credential, serviceName, nowMs);
const list = async (credential: AgentCredential, nowMs = clock.now()) =>
  database.accessStore.findWithGrants(credential, nowMs);

it('find reads the agent, its vault, grant and webhook by key', async () => {
  const { vaultId, agentId, grantId, webhookId } = stored;
  expect(await find(stored.credential)).toMatchObject({
    agentId,
    vaultId,
    status: 'active',
    mcpEnabled: 1,
    vaultLockedAt: null,
    activeAgents: 1,
    proxies: 0,
    policies: null,
    policyUsage: null,
    accountRevision: 0,
    accessRequests: 0,
    approval: null,
    credentialExpiresAt: null,
    grantId,
    grantExpiresAt: null,
    refreshPolicy: 'none',
    sourceGroupId: null,
    webhookId,
    webhookUrl: 'https://vault.example.org',
  });
  expect(await find(stored.credential, '')).toMatchObject({ agentId, grantId: null, refreshPolicy: null });
});

it('find reads the same by session, which it names with the expiry of the access token', async () => {
  const { credential, sessionId } = session;
  const shown = { credentialExpiresAt: formatTime(clock.now() + HOUR_MS), sessionId };
  expect(await find(credential)).toEqual({ ...(await find(stored.credential)), ...shown });
  expect(await find(credential, '')).toEqual({ ...(await find(stored.credential, '')), ...shown });
  expect(await list(credential)).toEqual({ ...(await list(stored.credential)), ...shown });
});

it('find reads whether MCP is off, and the folder of a grant', async () => {
  const { vaultId, agentId } = stored;
  const sourceGroupId: Id<'fld'> = newId('fld');
  await database.unitOfWork.run(vaultId, async ({ agents, grants }) => {
    await agents.update(vaultId, agentId, { mcpEnabled: false });
    await grants.addAll([
      {
        id: newId('grt'),
        vaultId,
        agentId,
        serviceName: 'of-a-folder',
        grantExpiresAt: '2026-11-20T13:00:00.000Z',
        refreshPolicy: 'auto',
        sourceGroupId,
        createdAt: '2026-11-20T12:00:00.000Z',
      },
    ]);
  });
  for (const { credential } of [stored, session]) {
    expect(await find(credential, 'of-a-folder')).toMatchObject({ mcpEnabled: 0, sourceGroupId });
    const github = {
      serviceName: 'github',
      grantExpiresAt: null,
      refreshPolicy: 'none',
      sourceGroupId: null,
    };
    const lapsing = {
      serviceName: 'of-a-folder',
      grantExpiresAt: '2026-11-20T13:00:00.000Z',
      refreshPolicy: 'auto',
      sourceGroupId,
    };
    expect((await list(credential))?.grants).toEqual([github, lapsing]);
  }
  expect((await list(stored.credential, clock.now() + HOUR_MS))?.grants).toHaveLength(1);
});

it('find and list read nothing of a transaction that is undone', async () => {
  const { vaultId, agentId } = stored;
  const reads: unknown[] = [];
  const undone = database.unitOfWork.run(vaultId, async ({ agents }) => {
    await agents.setStatus(vaultId, agentId, 'suspended');
    reads.push(find(stored.credential), list(stored.credential), find(session.credential));
    throw new Error('undone');
  });
  await expect(undone).rejects.toThrow('undone');
  expect(reads).toHaveLength(3);
  for (const read of reads) expect(await read).toMatchObject({ status: 'active' });
});

it.each(['suspended', 'deleted'] as const)('find reads an agent that is %s', async (status) => {
  const { vaultId, agentId } = stored;
  await database.unitOfWork.run(vaultId, ({ agents }) =>
    status === 'deleted' ? agents.markDeleted(vaultId, agentId) : agents.setStatus(vaultId, agentId, status),
  );
  expect(await find(stored.credential)).toMatchObject({ status });
  expect(await find(session.credential)).toMatchObject({ status });
});

it('an access token finds nobody from its expiry on', async () => {
  const { credential } = session;
  expect(await find(credential, 'github', clock.now() + HOUR_MS - 1)).toBeDefined();
  expect(await find(credential, 'github', clock.now() + HOUR_MS)).toBeUndefined();
  expect(await list(credential, clock.now() + HOUR_MS)).toBeUndefined();
});

it('an access token finds nobody at another audience or as a key, and a key finds nobody as a token', async () => {
  const { hash } = session.credential;
  const strangers: AgentCredential[] = [
    { kind: 'session', hash, audience: `${AUDIENCE}/` },
    { kind: 'session', hash, audience: '' },
    { kind: 'session', hash: stored.credential.hash, audience: AUDIENCE },
    { kind: 'key', hash },
    { kind: 'key', hash: `family of ${session.sessionId}` },
    { kind: 'session', hash: `family of ${session.sessionId}`, audience: AUDIENCE },
  ];
  for (const stranger of strangers) {
    expect(await find(stranger)).toBeUndefined();
    expect(await list(stranger)).toBeUndefined();
  }
});

it('an access token finds nobody once its session has ended, and the key still does', async () => {
  const { vaultId } = stored;
  await database.unitOfWork.run(vaultId, ({ sessions }) =>
    sessions.remove(vaultId, session.sessionId, undefined),
  );
  expect(await find(session.credential)).toBeUndefined();
  expect(await list(session.credential)).toBeUndefined();
  expect(await find(stored.credential)).toBeDefined();
});

it('an access token stays valid when the key of its agent is rotated', async () => {
  const { vaultId, agentId } = stored;
  const key = { keyHash: newId('agt'), keyPrefix: 'svagent_', keyWrapped: 'wrapped' };
  await database.unitOfWork.run(vaultId, ({ agents }) => agents.setKey(vaultId, agentId, key));
  expect(await find(stored.credential)).toBeUndefined();
  expect(await find(session.credential)).toMatchObject({ agentId });
});

it('many reads at once each return the subject of their own credential', async () => {
  const others = await Promise.all(Array.from({ length: 4 }, () => storeAccess(database, clock)));
  const accounts = await Promise.all(
    [stored, ...others].map(async (account) => ({
      account,
      token: (await storeSession(database, clock, account)).credential,
    })),
  );
  const asked = Array.from({ length: 20 }, () => accounts)
    .flat()
    .flatMap(({ account: { agentId, credential }, token }, n) =>
      [credential, token, { kind: 'key', hash: 'nobody' } as const].map(async (by) => {
        const subject = n % 2 === 0 ? await find(by) : await list(by);
        return [subject?.agentId, by.hash === 'nobody' ? undefined : agentId];
      }),
    );
  for (const [found, expected] of await Promise.all(asked)) expect(found).toBe(expected);
});

it('find reads what the granted credential needs an approval for, and whether the agent may ask for grants', async () => {
  const { vaultId, agentId, credential } = stored;
  const texts = { displayName: '', description: '', notes: '', tags: [], createdAt: NOW, updatedAt: NOW };
  await database.unitOfWork.run(vaultId, async ({ tokens, vaults }) => {
    for (const serviceName of ['github', 'npm']) {
      await tokens.add({ vaultId, serviceName, tokenType: 'PlainText', ...texts });
      await tokens.setApproval(vaultId, serviceName, 'credential proxy');
    }
    await vaults.setAccessRequests(vaultId, true);
  });
  const needed = { approval: 'credential proxy', accessRequests: 1 };
  expect(await find(credential)).toMatchObject(needed);
  expect(await find(session.credential)).toMatchObject(needed);
  expect(await find(credential, 'npm')).toMatchObject({ agentId, approval: null });
  await database.stores.tokens.setApproval(vaultId, 'github', undefined);
  expect(await find(credential)).toMatchObject({ approval: null });
  expect(await database.stores.tokens.approvals(vaultId, ['github', 'npm', 'other'])).toEqual(
    new Map([['npm', 'credential proxy']]),
  );
});
