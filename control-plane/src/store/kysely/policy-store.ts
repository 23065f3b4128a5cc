import type { Id } from '@svault/shared';
import type { Kysely } from 'kysely';
import {
  type AttachedTarget,
  type Policy,
  type PolicyStore,
  type PolicyTarget,
  type Rule,
  TARGET_TYPES,
  type TargetType,
} from '../../core/policy.ts';
import { nameKey } from '../../core/name.ts';
import type { Schema } from '../schema.ts';
import {
  all,
  changesRow,
  countsUpTo,
  first,
  nameContains,
  ofVault,
  pageBy,
  rowsChanged,
  rowsOfChunks,
  run,
} from './queries.ts';
import { type RowOf, toEntity, toRow } from './rows.ts';

const POLICY = ['id', 'vault_id', 'name', 'enabled', 'rules', 'created_at', 'updated_at'] as const;

export function createPolicyStore(db: Kysely<Schema>): PolicyStore {
  const policies = (vaultId: Id<'vlt'>) =>
    db.selectFrom('policies').select(POLICY).where('policies.vault_id', '=', vaultId);
  const attachments = (vaultId: Id<'vlt'>, type: TargetType) =>
    db
      .selectFrom('policy_attachments')
      .where('policy_attachments.vault_id', '=', vaultId)
      .where('target_type', '=', type);
  const attachedTo = (vaultId: Id<'vlt'>, { type, id }: PolicyTarget) =>
    attachments(vaultId, type).where('target_id', '=', id);
  /** Of attachments, those of policies that apply. */
  const enabled = (some: ReturnType<typeof attachments>) =>
    some
      .innerJoin('policies', 'policies.id', 'policy_attachments.policy_id')
      .where('policies.enabled', '=', 1);
  const detachFrom = (vaultId: Id<'vlt'>, { type, id }: PolicyTarget) =>
    db
      .deleteFrom('policy_attachments')
      .where('vault_id', '=', vaultId)
      .where('target_type', '=', type)
      .where('target_id', '=', id);

  const dropCounts = async (rules: readonly Rule[], target?: PolicyTarget): Promise<void> => {
    if (rules.length === 0) return;
    const ids = rules.map(({ id }) => id);
    const counts = db.deleteFrom('policy_usage').where('rule_id', 'in', ids);
    await run(
      target === undefined
        ? counts
        : counts.where('target_type', '=', target.type).where('target_id', '=', target.id),
    );
  };

  /** In the form in which the hot path reads them (`callerColumns` in `access-store.ts`). */
  const policiesAt = (vaultId: Id<'vlt'>, target: PolicyTarget): Promise<string[]> =>
    all(
      enabled(attachedTo(vaultId, target)).select(['policies.id', 'policies.name', 'policies.rules']),
      ({ id, name, rules }) =>
        `{"target":"${target.type}","id":"${id}","name":${JSON.stringify(name)},"rules":${rules}}`,
    );
  const countsAt = (vaultId: Id<'vlt'>, { type, id }: PolicyTarget): Promise<[string, number][]> =>
    all(
      db
        .selectFrom('policy_usage')
        .select(['rule_id', 'used'])
        .where('vault_id', '=', vaultId)
        .where('target_type', '=', type)
        .where('target_id', '=', id),
      ({ rule_id: ruleId, used }) => [`${type} ${ruleId}`, used],
    );

  const attachedOfType = async (
    { id: policyId, rules }: Policy,
    type: TargetType,
    ids: readonly string[],
  ): Promise<AttachedTarget[]> => {
    const ruleIds = rules.map(({ id }) => id);
    const rows = await db
      .selectFrom('policy_attachments as attached')
      .leftJoin('policy_usage as usage', (join) =>
        join
          .onRef('usage.vault_id', '=', 'attached.vault_id')
          .onRef('usage.target_type', '=', 'attached.target_type')
          .onRef('usage.target_id', '=', 'attached.target_id')
          .on('usage.rule_id', 'in', ruleIds),
      )
      .select(['attached.target_id as id', 'usage.rule_id', 'usage.used'])
      .where('attached.policy_id', '=', policyId)
      .where('attached.target_type', '=', type)
      .where('attached.target_id', 'in', ids)
      .execute();
    const counts = new Map<string, Map<string, number>>();
    for (const { id, rule_id: ruleId, used } of rows) {
      const ofTarget = counts.get(id) ?? new Map<string, number>();
      if (ruleId !== null && used !== null) ofTarget.set(ruleId, used);
      counts.set(id, ofTarget);
    }
    return [...counts].map(([id, used]) => ({ type, id, used }));
  };

  return {
    add: (policy) =>
      run(db.insertInto('policies').values({ ...toRow(policy), name_key: nameKey(policy.name) })),
    get: (vaultId, id) => first(policies(vaultId).where('id', '=', id as Policy['id']), toPolicy),
    list: (vaultId, target, page) => {
      const some =
        target === undefined
          ? policies(vaultId)
          : policies(vaultId).where('id', 'in', attachedTo(vaultId, target).select('policy_id'));
      return pageBy(['created_at', 'id'], some, page, toPolicy, nameContains(page.name));
    },
    update: async (before, { vaultId, id, name, enabled, rules, updatedAt }) => {
      const kept = new Set(rules.map((rule) => rule.id));
      const changed = { ...toRow({ name, enabled, rules, updatedAt }), name_key: nameKey(name) };
      await run(db.updateTable('policies').set(changed).where('vault_id', '=', vaultId).where('id', '=', id));
      await dropCounts(before.rules.filter((rule) => !kept.has(rule.id)));
    },
    remove: async ({ vaultId, id, rules }) => {
      await dropCounts(rules);
      const detached = await rowsChanged(db.deleteFrom('policy_attachments').where('policy_id', '=', id));
      await run(db.deleteFrom('policies').where('vault_id', '=', vaultId).where('id', '=', id));
      return detached;
    },
    attach: ({ vaultId, id }, target) =>
      changesRow(
        db
          .insertInto('policy_attachments')
          .values({ vault_id: vaultId, target_type: target.type, target_id: target.id, policy_id: id })
          .onConflict((conflict) => conflict.doNothing()),
      ),
    detach: async ({ vaultId, id, rules }, target) => {
      const detached = await changesRow(detachFrom(vaultId, target).where('policy_id', '=', id));
      if (detached) await dropCounts(rules, target);
      return detached;
    },
    detachAll: async (vaultId, target) => {
      const ids = await all(detachFrom(vaultId, target).returning('policy_id'), (row) => row.policy_id);
      if (ids.length > 0)
        await run(
          db
            .deleteFrom('policy_usage')
            .where('vault_id', '=', vaultId)
            .where('target_type', '=', target.type)
            .where('target_id', '=', target.id),
        );
      return ids.toSorted();
    },
    attachments: (policyId, page) =>
      pageBy(
        ['target_type', 'target_id'],
        db
          .selectFrom('policy_attachments')
          .select(['target_type', 'target_id'])
          .where('policy_id', '=', policyId),
        page,
        (row) => ({ type: row.target_type, id: row.target_id }),
      ),
    attachmentCounts: (policyIds, upTo) =>
      countsUpTo(
        db,
        policyIds,
        (id) => db.selectFrom('policy_attachments').where('policy_id', '=', id),
        upTo,
      ),
    countOf: async (vaultId, target) => {
      const { count } = await attachedTo(vaultId, target)
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return count;
    },
    attachedAmong: async (policy, targets) => {
      const found: AttachedTarget[] = [];
      for (const type of TARGET_TYPES) {
        const ids = targets.filter((target) => target.type === type).map(({ id }) => id);
        if (ids.length > 0) found.push(...(await attachedOfType(policy, type, ids)));
      }
      return found;
    },
    enabledAt: async (vaultId, type, targetIds) => {
      const rows = await rowsOfChunks(targetIds, (ids) =>
        enabled(attachments(vaultId, type).where('target_id', 'in', ids)).select([
          'target_id',
          'policies.id',
          'policies.name',
        ]),
      );
      // Apart, since a policy with its rules may be attached to each of them.
      const rules = await rowsOfChunks([...new Set(rows.map(({ id }) => id))], (ids) =>
        db.selectFrom('policies').select(['id', 'rules']).where(ofVault(vaultId)).where('id', 'in', ids),
      );
      const types = new Map(rules.map((row) => [row.id, toRules(row).map((rule) => rule.type)]));
      return rows.map(({ target_id: targetId, id, name }) => ({
        ...{ target: type, targetId, id, name },
        rules: types.get(id) ?? [],
      }));
    },
    inputOf: async (vaultId, caller, serviceName) => {
      const found: string[] = [];
      const usage: [string, number][] = [];
      for (const target of [caller, { type: 'token', id: serviceName } as const]) {
        found.push(...(await policiesAt(vaultId, target)));
        usage.push(...(await countsAt(vaultId, target)));
      }
      return {
        policies: found.length === 0 ? null : `[${found.join(',')}]`,
        usage: usage.length === 0 ? null : JSON.stringify(Object.fromEntries(usage)),
      };
    },
  };
}

const toPolicy = (row: RowOf<Policy>): Policy => ({
  ...toEntity(row),
  enabled: row.enabled === 1,
  rules: toRules(row),
});

const toRules = ({ rules }: Pick<RowOf<Policy>, 'rules'>): Rule[] => JSON.parse(rules) as Rule[];
