import { ManualClock, hashKey, newId, newKey } from '@svault/shared';
import { silentLogger } from '@svault/server-kit/logger';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AccessRequest, Decision } from '../../src/access/decision.ts';
import { agentKeyCredential } from '../../src/core/agent.ts';
import { createExpiredGrants } from '../../src/access/missing-grant.ts';
import { createAccess } from '../../src/access/authorize-agent.ts';
import { type AuditWriter, createAuditWriter } from '../../src/audit/audit-writer.ts';
import { createDenialCounter } from '../../src/audit/denial-counter.ts';
import type { Counter } from '../../src/limits/limiter.ts';
import { createLimits } from '../../src/limits/limits.ts';
import { createPolicyEvaluator } from '../../src/policies/evaluate.ts';
import type { Policy, RuleSettings } from '../../src/core/policy.ts';
import type { Database } from '../../src/store/database.ts';
import type { Stores } from '../../src/core/stores.ts';
import { useStore } from './open-store.ts';
import { type StoredAccess, storeAccess, storeSession } from './stored-access.ts';

// Changes between the decision about a request and the write of its access, on the real stores.

const NOW = '2026-11-20T12:00:00.000Z';
const clock = new ManualClock(Date.parse(NOW));
const KEY_PREFIX = 'svagent_';
let database: Database;
let stored: StoredAccess;
let key: string;
/** Runs once, between the next decision and the write of its access. */
let meanwhile: (() => Promise<unknown>) | undefined;
let counted: Counter[];

useStore((opened) => (database = opened), clock);
beforeEach(async () => {
  stored = await storeAccess(database, clock);
  key = newKey('svagent');
  const { vaultId, agentId } = stored;
  await change(({ agents }) =>
    agents.setKey(vaultId, agentId, { keyHash: hashKey(key), keyPrefix: KEY_PREFIX, keyWrapped: 'w' }),
  );
  meanwhile = undefined;
  counted = [];
});

/** A change as the management API makes one: with its event. */
const change = (work: (stores: Stores) => Promise<unknown>): Promise<void> =>
  database.unitOfWork.run(stored.vaultId, async (stores) => {
    await work(stores);
    const { vaultId, userId } = stored;
    await stores.audit.append({ vaultId, userId, eventType: 'AGENT_UPDATED', outcome: 'success' });
  });

function ask(request: Partial<AccessRequest> = {}): Promise<Decision> {
  const writer = createAuditWriter({ log: database.auditCommit, logger: silentLogger });
  const audit: AuditWriter = {
    record: async (event, options) => {
      const work = options?.onlyIf === undefined ? undefined : meanwhile;
      if (work !== undefined) {
        meanwhile = undefined;
        await work();
      }
      return writer.record(event, options);
    },
  };
  const access = createAccess({
    store: database.accessStore,
    limiter: {
      admit: ({ extraCounters }) => (counted.push(...extraCounters), { allowed: true }),
      take: (counter) => (counted.push(counter), { allowed: true }),
      lockouts: () => [],
    },
    limits: createLimits({}),
    policies: createPolicyEvaluator(() => undefined),
    audit,
    denials: createDenialCounter({ audit, clock }),
    expiredGrants: createExpiredGrants(database.unitOfWork),
    offlineForSeconds: () => 0,
    issueCredentialUrl: () => ({ url: 'https://x', expiresAt: 0 }),
    clock,
  });
  return access.decide({
    credential: agentKeyCredential(key),
    channel: 'rest',
    operation: { kind: 'credential', serviceName: 'github' },
    sourceAddress: '192.0.2.1',
    ...request,
  });
}
const answerOf = (decision: Decision): unknown =>
  decision.outcome === 'denied' ? decision.denial : decision.outcome;

const policyOf = (...rules: RuleSettings[]): Policy => ({
  id: newId('pol'),
  vaultId: stored.vaultId,
  name: 'p',
  enabled: true,
  rules: rules.map((rule) => ({ id: newId('rul'), ...rule })),
  createdAt: NOW,
  updatedAt: NOW,
});
async function attached(...rules: RuleSettings[]): Promise<Policy> {
  const policy = policyOf(...rules);
  await change(attach(policy));
  return policy;
}
const attach =
  (policy: Policy) =>
  async ({ policies }: Stores): Promise<void> => {
    await policies.add(policy);
    await policies.attach(policy, { type: 'agent', id: stored.agentId });
  };
const log = async () =>
  (await database.stores.audit.after(stored.vaultId, 0, 100)).filter(
    ({ eventType }) => eventType === 'AGENT_CREDENTIAL_ACCESS',
  );
const successes = async (): Promise<number> =>
  (await log()).filter(({ outcome }) => outcome === 'success').length;
const denied = (rule: string) => expect.objectContaining({ code: 'POLICY_DENIED', policy: 'p', rule });
const APPROVAL: RuleSettings = { type: 'manual_approval' };
const ONCE: RuleSettings = { type: 'max_usage', limit: 1 };

it('a policy that is attached before the write denies the request', async () => {
  meanwhile = () => change(attach(policyOf(APPROVAL)));
  expect(answerOf(await ask())).toEqual(denied('manual_approval'));
  expect(await successes()).toBe(0);
});

it('a policy that is changed or enabled before the write denies the request', async () => {
  const policy = await attached({ type: 'ip_allowlist', cidrs: ['192.0.2.0/24'] });
  const after: Policy = { ...policy, rules: policyOf(APPROVAL).rules };
  meanwhile = () => change(({ policies }) => policies.update(policy, after));
  expect(answerOf(await ask())).toEqual(denied('manual_approval'));
  const disabled = { ...after, enabled: false };
  await change(({ policies }) => policies.update(after, disabled));
  meanwhile = () => change(({ policies }) => policies.update(disabled, after));
  expect(answerOf(await ask())).toEqual(denied('manual_approval'));
  expect(await successes()).toBe(0);
});

it('a policy that is detached before the write counts no use', async () => {
  const policy = await attached(ONCE);
  const target = { type: 'agent', id: stored.agentId } as const;
  meanwhile = () => change(({ policies }) => policies.detach(policy, target));
  expect(answerOf(await ask())).toBe('ticket');
  await change(({ policies }) => policies.attach(policy, target));
  expect(answerOf(await ask())).toBe('ticket');
  expect(answerOf(await ask())).toEqual(denied('max_usage'));
});

it('a change that denies nothing still yields the ticket, recorded once and counted once', async () => {
  const rate: RuleSettings = { type: 'rate_limit', limit: 5, windowSeconds: 60 };
  const policy = await attached(rate, { ...ONCE, limit: 2 });
  meanwhile = () => change(({ policies }) => policies.update(policy, { ...policy, name: 'renamed' }));
  expect(answerOf(await ask())).toBe('ticket');
  expect(await successes()).toBe(1);
  expect(counted).toHaveLength(1);
  expect(answerOf(await ask())).toBe('ticket');
  expect(answerOf(await ask())).toMatchObject({
    code: 'POLICY_DENIED',
    policy: 'renamed',
    rule: 'max_usage',
  });
});

it('a lower max_usage limit applies to a request that is already decided', async () => {
  const policy = await attached({ ...ONCE, limit: 5 });
  expect(answerOf(await ask())).toBe('ticket');
  const [rule] = policy.rules;
  meanwhile = () =>
    change(({ policies }) =>
      policies.update(policy, { ...policy, rules: rule === undefined ? [] : [{ ...rule, ...ONCE }] }),
    );
  expect(answerOf(await ask())).toEqual(denied('max_usage'));
});

it('a rate that is attached before the write counts the request', async () => {
  const policy = policyOf({ type: 'rate_limit', limit: 5, windowSeconds: 60 });
  meanwhile = () => change(attach(policy));
  expect(answerOf(await ask())).toBe('ticket');
  expect(counted).toEqual([
    {
      scope: 'rate_limit',
      key: `${policy.rules[0]?.id} agent ${stored.agentId}`,
      limit: 5,
      windowMs: 60_000,
    },
  ]);
});

it('of two requests that the policies allow, one gets the last use', async () => {
  await attached(ONCE);
  const both = await Promise.all([ask(), ask()]);
  expect(both.map(({ outcome }) => outcome).toSorted()).toEqual(['denied', 'ticket']);
  expect(both.map(answerOf)).toContainEqual(denied('max_usage'));
});

describe('over MCP', () => {
  it('a session that is revoked before the write gets INVALID_KEY, and no access is recorded', async () => {
    const { credential, sessionId } = await storeSession(database, clock, stored);
    expect(answerOf(await ask({ channel: 'mcp', credential }))).toBe('ticket');
    meanwhile = () => change(({ sessions }) => sessions.remove(stored.vaultId, sessionId, undefined));
    expect(answerOf(await ask({ channel: 'mcp', credential }))).toEqual({ code: 'INVALID_KEY' });
    expect(await successes()).toBe(1);
    expect(await log()).toHaveLength(1);
  });

  it('a session that is revoked before the write counts no lifetime use', async () => {
    await attached(ONCE);
    const { credential, sessionId } = await storeSession(database, clock, stored);
    meanwhile = () => change(({ sessions }) => sessions.remove(stored.vaultId, sessionId, undefined));
    expect(answerOf(await ask({ channel: 'mcp', credential }))).toEqual({ code: 'INVALID_KEY' });
    expect(answerOf(await ask())).toBe('ticket');
  });

  it('an access token that expires before the write gets INVALID_KEY', async () => {
    const { credential } = await storeSession(database, clock, stored, 1_000);
    meanwhile = async () => clock.advance(1_000);
    expect(answerOf(await ask({ channel: 'mcp', credential }))).toEqual({ code: 'INVALID_KEY' });
    expect(await successes()).toBe(0);
  });

  it('MCP that is disabled before the write denies requests by key and by session, and none over REST', async () => {
    const { credential } = await storeSession(database, clock, stored);
    const { vaultId, agentId } = stored;
    const toggle = (mcpEnabled: boolean) => (stores: Stores) =>
      stores.agents.update(vaultId, agentId, { mcpEnabled });
    for (const request of [{ channel: 'mcp', credential }, { channel: 'mcp' }] as const) {
      meanwhile = () => change(toggle(false));
      expect(answerOf(await ask(request))).toEqual({ code: 'MCP_DISABLED' });
      await change(toggle(true));
    }
    meanwhile = () => change(toggle(false));
    expect(answerOf(await ask())).toBe('ticket');
    expect(await successes()).toBe(1);
  });
});
