import type { SqliteGroupCommit } from '@svault/server-kit/group-commit';
import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import { type Clock, type Id, formatTime } from '@svault/shared';
import { stampEvent } from '../../core/audit-event.ts';
import {
  type AuditCommit,
  type AuditEntry,
  type CommittedEvent,
  isExpired,
} from '../../audit/audit-writer.ts';
import { type ChainHead, EMPTY_CHAIN } from '@svault/shared/audit-chain';
import { linkEvent } from '../../audit/chain.ts';
import type { LifetimeUse } from '../../core/policy.ts';
import type { AuditEventRow } from '../schema.ts';
import { AUDIT_COLUMNS, toAuditRow } from '../kysely/audit-rows.ts';

/** The log on the hot path: prepared statements, one read and one write of a chain's head per vault and transaction. */
export function createAuditCommit(
  db: SqliteDatabase,
  groupCommit: Pick<SqliteGroupCommit, 'begin'>,
  clock: Clock,
): AuditCommit {
  const head = db.prepare<[string], { seq: number; hash: string }>(
    'SELECT head_seq AS seq, head_hash AS hash FROM audit_chains WHERE vault_id = (SELECT ?)',
  );
  // By position: binding by name costs as much again as the insert itself.
  const insert = db.prepare<AuditEventRow[keyof AuditEventRow][]>(
    `INSERT INTO audit_events (${AUDIT_COLUMNS.join(', ')}) VALUES (${AUDIT_COLUMNS.map(() => '?').join(', ')})`,
  );
  const moveHead = db.prepare<[string, number, string, number, string]>(
    `INSERT INTO audit_chains (vault_id, head_seq, head_hash, start_seq, start_hash, shipped_seq)
     VALUES (?, ?, ?, ?, ?, 0)
     ON CONFLICT (vault_id) DO UPDATE SET head_seq = excluded.head_seq, head_hash = excluded.head_hash`,
  );
  const touchAgent = db.prepare<[string, string, string]>(
    'UPDATE agents SET last_used_at = ? WHERE vault_id = ? AND id = ?',
  );
  const touchProxy = db.prepare<[string, string, string]>(
    'UPDATE proxies SET last_used_at = ? WHERE vault_id = ? AND id = ?',
  );

  const revisionOf = db
    .prepare<[string], number>('SELECT revision FROM vaults WHERE id = (SELECT ?)')
    .pluck();
  const countUses = createUseCount(db);
  const holds = (entry: AuditEntry, now: string): boolean => {
    const { event, onlyIf } = entry;
    if (onlyIf === undefined) return true;
    if (isExpired(entry, now) || revisionOf.get(event.vaultId) !== onlyIf.accountRevision) return false;
    return countUses(event.vaultId, onlyIf.uses);
  };

  /** @returns the entries whose precondition no longer holds */
  const write = (entries: readonly AuditEntry[]): ReadonlySet<AuditEntry> => {
    const leftOut = new Set<AuditEntry>();
    const nowMs = clock.now();
    const now = formatTime(nowMs);
    const heads = new Map<Id<'vlt'>, ChainHead>();
    for (const entry of entries) {
      if (!holds(entry, now)) {
        leftOut.add(entry);
        continue;
      }
      const { event, touchCaller } = entry;
      const { vaultId, agentId, proxyId } = event;
      const before = heads.get(vaultId) ?? head.get(vaultId) ?? EMPTY_CHAIN;
      const linked = linkEvent(before, stampEvent(event, nowMs));
      const row = toAuditRow(linked);
      insert.run(...AUDIT_COLUMNS.map((column) => row[column]));
      heads.set(vaultId, linked);
      if (touchCaller && agentId !== undefined) touchAgent.run(linked.timestamp, vaultId, agentId);
      if (touchCaller && proxyId !== undefined) touchProxy.run(linked.timestamp, vaultId, proxyId);
    }
    for (const [vaultId, { seq, hash }] of heads)
      moveHead.run(vaultId, seq, hash, EMPTY_CHAIN.seq, EMPTY_CHAIN.hash);
    return leftOut;
  };

  /** Entries of one turn of the event loop share one transaction and its promises. */
  interface Group {
    readonly entries: AuditEntry[];
    readonly leftOut: Promise<ReadonlySet<AuditEntry>>;
    readonly committed: CommittedEvent;
  }
  let open: Group | undefined;

  const begin = (): Group => {
    const entries: AuditEntry[] = [];
    const close = (): void => {
      if (open?.entries === entries) open = undefined;
    };
    const { committed, durable } = groupCommit.begin(() => {
      close();
      return write(entries);
    });
    // The entries of a transaction that never began fail with it, and are not left for a later one.
    return { entries, leftOut: committed.finally(close), committed: { durable } };
  };
  const join = (entry: AuditEntry): Group => {
    open ??= begin();
    open.entries.push(entry);
    return open;
  };

  return {
    write: async (entry) => {
      const { leftOut, committed } = join(entry);
      if ((await leftOut).has(entry)) return false;
      await committed.durable;
      return true;
    },
    commit: async (entry) => {
      const { leftOut, committed } = join(entry);
      return (await leftOut).has(entry) ? undefined : committed;
    },
  };
}

/**
 * Counts uses of `max_usage` rules: all of them, or none where one has no room left.
 *
 * Exact only within a write transaction, which no other one overlaps.
 */
function createUseCount(db: SqliteDatabase): (vaultId: Id<'vlt'>, uses: readonly LifetimeUse[]) => boolean {
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
