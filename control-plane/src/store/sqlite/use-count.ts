import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { Id } from '@svault/shared';
import type { LifetimeUse } from '../../core/policy.ts';

/**
 * Counts uses of `max_usage` rules: all of them, or none where one has no room left.
 *
 * Exact only within a write transaction, which no other one overlaps: then what is read is still true when it is counted.
 */
export function createUseCount(
  db: SqliteDatabase,
): (vaultId: Id<'vlt'>, uses: readonly LifetimeUse[]) => boolean {
  const used = db
    .prepare<[string, string, string, string], number>(
      `SELECT used FROM policy_usage
       WHERE vault_id = (SELECT ?) AND target_type = (SELECT ?) AND target_id = (SELECT ?) AND rule_id = (SELECT ?)`,
    )
    .pluck();
  const count = db.prepare<[string, string, string, string]>(
    `INSERT INTO policy_usage (vault_id, target_type, target_id, rule_id, used) VALUES (?, ?, ?, ?, 1)
     ON CONFLICT (vault_id, target_type, target_id, rule_id) DO UPDATE SET used = used + 1`,
  );
  return (vaultId, uses) => {
    const hasRoom = uses.every(
      ({ targetType, targetId, ruleId, limit }) =>
        (used.get(vaultId, targetType, targetId, ruleId) ?? 0) < limit,
    );
    if (!hasRoom) return false;
    for (const { targetType, targetId, ruleId } of uses) count.run(vaultId, targetType, targetId, ruleId);
    return true;
  };
}
