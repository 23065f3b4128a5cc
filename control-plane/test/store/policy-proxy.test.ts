import { ManualClock, newId } from '@svault/shared';
import { beforeEach, expect, it } from 'vitest';
import type { Actor } from '../../src/core/actor.ts';
import { createPolicyEvaluator } from '../../src/policies/evaluate.ts';
import {
  type Simulation,
  attachPolicy,
  createPolicy,
  detachPolicy,
  simulate,
} from '../../src/management/policies.ts';
import type { Proxy } from '../../src/core/proxy.ts';
import type { Database } from '../../src/store/database.ts';
import type { Change } from '../../src/core/stores.ts';
import { useStore } from './open-store.ts';
import { storeAccess } from './stored-access.ts';
import { storeProxy } from './stored-proxy.ts';

// Policies on proxies, below the routes.

const clock = new ManualClock(Date.parse('2026-11-20T12:00:00Z'));
let database: Database;
let actor: Actor;
let stranger: Actor;

useStore((opened) => (database = opened), clock);

const change = <T>(work: (change: Change) => Promise<T>): Promise<T> =>
  database.unitOfWork.run(actor.vaultId, (stores) => work({ ...stores, actor }));
const actorOf = async (): Promise<Actor> => {
  const { vaultId, userId } = await storeAccess(database, clock);
  return { vaultId, userId, role: 'member', via: 'adminKey', credentialId: newId('adk') };
};
beforeEach(async () => {
  [actor, stranger] = [await actorOf(), await actorOf()];
});

const storedProxy = async (status: Proxy['status'] = 'active'): Promise<string> =>
  (await storeProxy(database, actor.vaultId, { status })).proxy.id;
const made = async (): Promise<string> =>
  (await change((inside) => createPolicy(inside, { name: 'p', rules: [{ type: 'manual_approval' }] }, clock)))
    .id;
const simulated = (proxyId: string, by = actor): Promise<Simulation> =>
  simulate(
    database.stores,
    createPolicyEvaluator(() => undefined),
    by,
    {
      caller: { type: 'proxy', id: proxyId },
      serviceName: 'github',
      atMs: clock.now(),
      ip: undefined,
    },
  );

it('a policy can be attached to a proxy, simulated and detached, each change with its event', async () => {
  const [proxyId, policyId] = [await storedProxy(), await made()];
  const target = { type: 'proxy', id: proxyId } as const;
  expect((await simulated(proxyId)).verdict.allowed).toBe(true);
  await change((inside) => attachPolicy(inside, policyId, target));
  expect(await simulated(proxyId)).toMatchObject({
    verdict: { allowed: false, policy: 'p', rule: 'manual_approval' },
    rules: [{ policyId, targetType: 'proxy', rule: 'manual_approval', allowed: false }],
  });
  expect((await simulated(await storedProxy())).verdict.allowed).toBe(true);
  await change((inside) => detachPolicy(inside, policyId, target));
  expect((await simulated(proxyId)).rules).toEqual([]);
  const events = await database.stores.audit.after(actor.vaultId, 0, 100);
  expect(events.slice(-2)).toMatchObject([
    { eventType: 'POLICY_ATTACHED', proxyId, detail: { policyId, targetType: 'proxy' } },
    { eventType: 'POLICY_DETACHED', proxyId, detail: { policyId, targetType: 'proxy' } },
  ]);
});

it('a policy cannot be attached to a revoked proxy', async () => {
  const [id, policyId] = [await storedProxy('revoked'), await made()];
  await expect(
    change((inside) => attachPolicy(inside, policyId, { type: 'proxy', id })),
  ).rejects.toMatchObject({ code: 'CONFLICT' });
  await expect(simulated(id)).rejects.toMatchObject({ code: 'CONFLICT' });
});

it("a policy cannot be attached to another account's proxy", async () => {
  const proxyId = await storedProxy();
  await expect(simulated(proxyId, stranger)).rejects.toMatchObject({ code: 'NOT_FOUND' });
});
