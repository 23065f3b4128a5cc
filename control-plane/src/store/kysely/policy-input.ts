import type { Kysely } from 'kysely';
import type { Id } from '@svault/shared';
import type { PolicyInput, PolicyTarget } from '../../core/policy.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * The enabled policies of these targets and their counts, in the form in which the hot path reads them with the caller
 * (`subject-parts-sqlite.ts`). For where a request is only imagined.
 */
export async function policyInput(
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
