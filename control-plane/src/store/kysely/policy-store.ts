import type { Id } from '@svault/shared';
import type { Kysely, Selectable } from 'kysely';
import { pageOf } from '../../core/paging.ts';
import type { Policy, PolicyInput, PolicyStore, PolicyTarget, Rule } from '../../core/policy.ts';
import type { Schema } from '../schema/schema.ts';
import { afterKey } from './pagination.ts';

export function createPolicyStore(db: Kysely<Schema>): PolicyStore {
  const dropCounts = async (rules: readonly Rule[], target?: PolicyTarget): Promise<void> => {
    if (rules.length === 0) return;
    const counts = db.deleteFrom('policy_usage').where(
      'rule_id',
      'in',
      rules.map(({ id }) => id),
    );
    await (
      target === undefined
        ? counts
        : counts.where('target_type', '=', target.type).where('target_id', '=', target.id)
    ).execute();
  };

  return {
    add: async (policy) => {
      await db.insertInto('policies').values(toRow(policy)).execute();
    },
    get: async (vaultId, id) => {
      const row = await db
        .selectFrom('policies')
        .selectAll()
        .where('vault_id', '=', vaultId)
        .where('id', '=', id as Policy['id'])
        .executeTakeFirst();
      return row && toPolicy(row);
    },
    list: async (vaultId, target, page) => {
      const all = db
        .selectFrom('policies')
        .selectAll('policies')
        .where('policies.vault_id', '=', vaultId)
        .where(afterKey(['policies.created_at', 'policies.id'], page))
        .orderBy('policies.created_at')
        .orderBy('policies.id')
        .limit(page.limit + 1);
      const rows = await (
        target === undefined
          ? all
          : all.where('policies.id', 'in', ({ selectFrom }) =>
              selectFrom('policy_attachments')
                .select('policy_id')
                .where('vault_id', '=', vaultId)
                .where('target_type', '=', target.type)
                .where('target_id', '=', target.id),
            )
      ).execute();
      return pageOf(rows.map(toPolicy), page.limit, ({ createdAt, id }) => [createdAt, id]);
    },
    update: async (before, after) => {
      const kept = new Set(after.rules.map(({ id }) => id));
      const { name, enabled, rules, updated_at } = toRow(after);
      await db
        .updateTable('policies')
        .set({ name, enabled, rules, updated_at })
        .where('vault_id', '=', after.vaultId)
        .where('id', '=', after.id)
        .execute();
      await dropCounts(before.rules.filter(({ id }) => !kept.has(id)));
    },
    remove: async (policy) => {
      await dropCounts(policy.rules);
      const { numDeletedRows } = await db
        .deleteFrom('policy_attachments')
        .where('policy_id', '=', policy.id)
        .executeTakeFirstOrThrow();
      await db
        .deleteFrom('policies')
        .where('vault_id', '=', policy.vaultId)
        .where('id', '=', policy.id)
        .execute();
      return Number(numDeletedRows);
    },
    attach: async ({ vaultId, id }, target) => {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('policy_attachments')
        .values({ vault_id: vaultId, target_type: target.type, target_id: target.id, policy_id: id })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      if ((numInsertedOrUpdatedRows ?? 0n) === 0n) return false;
      return true;
    },
    detach: async ({ vaultId, id, rules }, target) => {
      const { numDeletedRows } = await db
        .deleteFrom('policy_attachments')
        .where('vault_id', '=', vaultId)
        .where('target_type', '=', target.type)
        .where('target_id', '=', target.id)
        .where('policy_id', '=', id)
        .executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) return false;
      await dropCounts(rules, target);
      return true;
    },
    detachAll: async (vaultId, target) => {
      const rows = await db
        .deleteFrom('policy_attachments')
        .where('vault_id', '=', vaultId)
        .where('target_type', '=', target.type)
        .where('target_id', '=', target.id)
        .returning('policy_id')
        .execute();
      if (rows.length === 0) return [];
      await db
        .deleteFrom('policy_usage')
        .where('vault_id', '=', vaultId)
        .where('target_type', '=', target.type)
        .where('target_id', '=', target.id)
        .execute();
      return rows.map(({ policy_id: id }) => id).toSorted();
    },
    attachments: async (policyId, page) => {
      const rows = await db
        .selectFrom('policy_attachments')
        .select(['target_type', 'target_id'])
        .where('policy_id', '=', policyId)
        .where(afterKey(['target_type', 'target_id'], page))
        .orderBy('target_type')
        .orderBy('target_id')
        .limit(page.limit + 1)
        .execute();
      const targets = rows.map(({ target_type, target_id }) => ({ type: target_type, id: target_id }));
      return pageOf(targets, page.limit, (target) => [target.type, target.id]);
    },
    countOf: async (vaultId, target) => {
      const { count } = await db
        .selectFrom('policy_attachments')
        .select(({ fn }) => fn.countAll().as('count'))
        .where('vault_id', '=', vaultId)
        .where('target_type', '=', target.type)
        .where('target_id', '=', target.id)
        .executeTakeFirstOrThrow();
      return Number(count);
    },
    inputOf: (vaultId, caller, serviceName) =>
      policyInput(db, vaultId, [caller, { type: 'token', id: serviceName }]),
  };
}

type Row = Selectable<Schema['policies']>;

function toRow(policy: Policy): Row {
  return {
    id: policy.id,
    vault_id: policy.vaultId,
    name: policy.name,
    enabled: policy.enabled ? 1 : 0,
    rules: JSON.stringify(policy.rules),
    created_at: policy.createdAt,
    updated_at: policy.updatedAt,
  };
}

function toPolicy(row: Row): Policy {
  return {
    id: row.id,
    vaultId: row.vault_id,
    name: row.name,
    enabled: row.enabled === 1,
    rules: JSON.parse(row.rules) as Rule[],
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

/**
 * The enabled policies of these targets and their counts, in the form in which the hot path reads them (`callerColumns` in
 * `access-store.ts`), for simulated requests.
 */
async function policyInput(
  db: Kysely<Schema>,
  vaultId: Id<'vlt'>,
  targets: readonly PolicyTarget[],
): Promise<Pick<PolicyInput, 'policies' | 'usage'>> {
  const policies: string[] = [];
  const usage: [string, number][] = [];
  for (const target of targets) {
    policies.push(...(await policiesAt(db, vaultId, target)));
    usage.push(...(await countsAt(db, vaultId, target)));
  }
  return {
    policies: policies.length === 0 ? null : `[${policies.join(',')}]`,
    usage: usage.length === 0 ? null : JSON.stringify(Object.fromEntries(usage)),
  };
}

async function policiesAt(db: Kysely<Schema>, vaultId: Id<'vlt'>, target: PolicyTarget): Promise<string[]> {
  const rows = await db
    .selectFrom('policy_attachments')
    .innerJoin('policies', 'policies.id', 'policy_attachments.policy_id')
    .select(['policies.id', 'policies.name', 'policies.rules'])
    .where('policy_attachments.vault_id', '=', vaultId)
    .where('policy_attachments.target_type', '=', target.type)
    .where('policy_attachments.target_id', '=', target.id)
    .where('policies.enabled', '=', 1)
    .execute();
  return rows.map(
    ({ id, name, rules }) =>
      `{"target":"${target.type}","id":"${id}","name":${JSON.stringify(name)},"rules":${rules}}`,
  );
}

async function countsAt(
  db: Kysely<Schema>,
  vaultId: Id<'vlt'>,
  target: PolicyTarget,
): Promise<[string, number][]> {
  const rows = await db
    .selectFrom('policy_usage')
    .select(['rule_id', 'used'])
    .where('vault_id', '=', vaultId)
    .where('target_type', '=', target.type)
    .where('target_id', '=', target.id)
    .execute();
  return rows.map(({ rule_id: ruleId, used }) => [`${target.type} ${ruleId}`, Number(used)]);
}
