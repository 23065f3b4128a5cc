import { type Id, ManualClock, newId } from '@svault/shared';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AgentSubject } from '../../src/access/subject.ts';
import type { PolicyTarget, Policy } from '../../src/core/policy.ts';
import type { Database } from '../../src/store/database.ts';
import type { Stores } from '../../src/core/stores.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess } from './stored-access.ts';
import { storeProxy } from './stored-proxy.ts';

const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock(Date.parse(NOW));
let database: Database;
let stored: StoredAccess;

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  stored = await storeAccess(database, clock);
});

const change = <T>(work: (stores: Stores) => Promise<T>, account = stored): Promise<T> =>
  database.unitOfWork.run(account.vaultId, work);
const subject = async (account = stored, serviceName = 'github'): Promise<AgentSubject> => {
  const found = await database.accessStore.find(account.credential, serviceName, 0);
  if (found === undefined) throw new Error('the agent is not there');
  return found;
};
const agent = (account = stored): PolicyTarget => ({ type: 'agent', id: account.agentId });
const token: PolicyTarget = { type: 'token', id: 'github' };

function policyOf({ vaultId }: StoredAccess, more: Partial<Policy> = {}): Policy {
  return {
    id: newId('pol'),
    vaultId,
    name: 'p',
    enabled: true,
    rules: [
      { id: newId('rul'), type: 'max_usage', limit: 5 },
      { id: newId('rul'), type: 'max_usage', limit: 6 },
    ],
    createdAt: NOW,
    updatedAt: NOW,
    ...more,
  };
}
async function attached(target: PolicyTarget, more: Partial<Policy> = {}, account = stored): Promise<Policy> {
  const policy = policyOf(account, more);
  await change(async ({ policies }) => {
    await policies.add(policy);
    await policies.attach(policy, target);
  }, account);
  return policy;
}
/** One access that counts every rule of a policy at a target. */
async function use(policy: Policy, target: PolicyTarget, account = stored): Promise<void> {
  const { accountRevision } = await subject(account);
  const uses = policy.rules.map(({ id: ruleId }) => ({
    ruleId,
    targetType: target.type,
    targetId: target.id,
    limit: 100,
  }));
  const onlyIf = { ...account.onlyIf, accountRevision, uses };
  const entry = { event: account.event('github'), touchCaller: false, onlyIf };
  expect(await database.auditCommit.write(entry)).toBe(true);
}
const readable = ({ policies, policyUsage }: Pick<AgentSubject, 'policies' | 'policyUsage'>) => ({
  policies: policies === null ? null : (JSON.parse(policies) as unknown[]),
  usage: policyUsage === null ? null : (JSON.parse(policyUsage) as unknown),
});

describe('the policies that are read with an agent', () => {
  it('are null where none is attached', async () => {
    expect(await subject()).toMatchObject({ policies: null, policyUsage: null });
  });

  it("are the enabled policies of agent and token with their counts, without another token's", async () => {
    const name = `"quoted" \\ back, 'single' und Größe \u2028 {}`;
    const ofAgent = await attached(agent(), { name });
    const ofToken = await attached(token);
    await attached({ type: 'token', id: 'gitlab' });
    await attached(agent(), { enabled: false });
    await change(({ policies }) => policies.attach(ofAgent, token));
    await use(ofAgent, agent());
    await use(ofAgent, token);
    await use(ofAgent, token);
    const { policies, usage } = readable(await subject());
    const [first, second] = ofAgent.rules.map(({ id }) => id);
    expect(usage).toEqual({
      [`agent ${first}`]: 1,
      [`agent ${second}`]: 1,
      [`token ${first}`]: 2,
      [`token ${second}`]: 2,
    });
    expect(policies).toHaveLength(3);
    const shown = (target: string, { id, name, rules }: Policy): unknown => ({ target, id, name, rules });
    for (const each of [shown('agent', ofAgent), shown('token', ofAgent), shown('token', ofToken)])
      expect(policies).toContainEqual(each);
    expect(readable(await subject(stored, '')).policies).toEqual([shown('agent', ofAgent)]);
  });

  it('are the same that a simulation reads', async () => {
    await use(await attached(agent()), agent());
    await use(await attached(token, { name: 'ü "' }), token);
    await attached(token, { enabled: false });
    const { policies, usage } = await database.stores.policies.inputOf(
      stored.vaultId,
      { type: 'agent', id: stored.agentId },
      'github',
    );
    const imagined = readable({ policies, policyUsage: usage });
    const real = readable(await subject());
    expect(imagined.usage).toEqual(real.usage);
    expect(imagined.policies).toHaveLength(2);
    expect(imagined.policies).toEqual(expect.arrayContaining(real.policies ?? []));
  });

  it('are null for a token that the agent has no grant for', async () => {
    const elsewhere: PolicyTarget = { type: 'token', id: 'gitlab' };
    await use(await attached(elsewhere), elsewhere);
    expect(await subject(stored, 'gitlab')).toMatchObject({ policies: null, policyUsage: null });
  });

  it("are without those of another account's token of the same name", async () => {
    const other = await storeAccess(database, clock);
    const policy = await attached(token, {}, other);
    await use(policy, token, other);
    expect(await subject()).toMatchObject({ policies: null, policyUsage: null });
    expect(readable(await subject(other)).policies).toHaveLength(1);
  });

  it('come with the counts of active agents and proxies, up to the maximum of the aggregate limit', async () => {
    expect(await subject()).toMatchObject({ activeAgents: 1, proxies: 0 });
    await storeProxy(database, stored.vaultId);
    await storeProxy(database, stored.vaultId, { status: 'revoked' });
    expect(await subject()).toMatchObject({ activeAgents: 1, proxies: 1 });
    for (let n = 0; n < 9; n++) await storeProxy(database, stored.vaultId);
    expect(await subject()).toMatchObject({ proxies: 7 });
    await change(({ agents }) => agents.setStatus(stored.vaultId, stored.agentId, 'suspended'));
    expect(await subject()).toMatchObject({ activeAgents: 0 });
  });
});

describe('usage counts', () => {
  const counts = async (policy: Policy): Promise<string[]> => {
    const rows = await database.kysely
      .selectFrom('policy_usage')
      .select(['rule_id', 'target_type'])
      .where(
        'rule_id',
        'in',
        policy.rules.map(({ id }) => id),
      )
      .execute();
    return rows
      .map(
        ({ rule_id: id, target_type }) =>
          `${policy.rules.findIndex((rule) => rule.id === id)} ${target_type}`,
      )
      .toSorted();
  };
  let policy: Policy;
  beforeEach(async () => {
    policy = await attached(agent());
    await change(({ policies }) => policies.attach(policy, token));
    for (const target of [agent(), token]) await use(policy, target);
    expect(await counts(policy)).toEqual(['0 agent', '0 token', '1 agent', '1 token']);
  });

  const cases: readonly [string, (stores: Stores) => Promise<unknown>, string[]][] = [
    [
      'when their rule is removed',
      ({ policies }) => policies.update(policy, { ...policy, rules: policy.rules.slice(1) }),
      ['1 agent', '1 token'],
    ],
    [
      'for no rule that stays, whatever its settings',
      ({ policies }) =>
        policies.update(policy, {
          ...policy,
          rules: policy.rules.map(({ id }) => ({ id, type: 'max_usage', limit: 9 })),
        }),
      ['0 agent', '0 token', '1 agent', '1 token'],
    ],
    [
      'when the policy is detached from their target',
      ({ policies }) => policies.detach(policy, token),
      ['0 agent', '1 agent'],
    ],
    [
      'when their target is deleted',
      ({ policies }) => policies.detachAll(stored.vaultId, agent()),
      ['0 token', '1 token'],
    ],
    ['when their policy is deleted', ({ policies }) => policies.remove(policy), []],
  ];
  it.each(cases)('are deleted %s', async (_what, work, left) => {
    await change(work);
    expect(await counts(policy)).toEqual(left);
  });
});

it('lists the attachments of a policy and the policies of a target in pages', async () => {
  const policy = await attached(agent());
  await change(({ policies }) => policies.attach(policy, token));
  const { policies } = database.stores;
  const first = await policies.attachments(policy.id, { limit: 1, after: undefined });
  expect(first).toMatchObject({ items: [agent()], nextCursor: expect.any(String) });
  const rest = await policies.attachments(policy.id, { limit: 1, after: ['agent', stored.agentId] });
  expect(rest).toEqual({ items: [token] });

  const second = await attached(token, { createdAt: '2026-11-20T12:00:01.000Z' });
  expect(await policies.countOf(stored.vaultId, token)).toBe(2);
  const page = await policies.list(stored.vaultId, token, { limit: 1, after: undefined });
  expect(page.items).toEqual([policy]);
  const after = [policy.createdAt, policy.id];
  expect(await policies.list(stored.vaultId, token, { limit: 1, after })).toEqual({ items: [second] });
});

it('finds the targets of a policy among others, with what its rules counted there', async () => {
  const policy = await attached(agent());
  await attached(token);
  const targets = [agent(), token, { type: 'proxy', id: 'prx_x' }] as const;
  const { policies } = database.stores;
  expect(await policies.attachedAmong(policy, targets)).toEqual([{ ...agent(), used: new Map() }]);
  await change(({ policies: inside }) => inside.attach(policy, token));
  await use(policy, token);
  const used = new Map(policy.rules.map(({ id }) => [id, 1]));
  expect(await policies.attachedAmong(policy, targets)).toEqual([
    { ...agent(), used: new Map() },
    { ...token, used },
  ]);
  expect(await policies.attachedAmong(policy, [])).toEqual([]);
});

it('finds no policy of another account', async () => {
  const other = await storeAccess(database, clock);
  const policy = await attached(agent());
  const { policies } = database.stores;
  expect(await policies.get(other.vaultId, policy.id)).toBeUndefined();
  expect((await policies.list(other.vaultId, undefined, { limit: 10, after: undefined })).items).toEqual([]);
  expect(await change(({ policies: inside }) => inside.detachAll(other.vaultId, agent()), other)).toEqual([]);
  expect(await policies.countOf(stored.vaultId, agent())).toBe(1);
  const unknown = 'pol_x' as Id<'pol'>;
  expect(await policies.get(stored.vaultId, unknown)).toBeUndefined();
});
