import type { ObserveCommit } from '@svault/server-kit/group-commit';
import { StorageFailure } from '@svault/server-kit/storage-failure';
import type { Clock } from '@svault/shared';
import { formatTime } from '@svault/shared';
import { stampEvent } from '../../core/audit-event.ts';
import { type AuditCommit, type AuditEntry, isExpired } from '../../audit/audit-writer.ts';
import { hashedText } from '@svault/shared/audit-chain';
import { createBatcher } from './batcher.ts';
import { isConflict } from './postgres-errors.ts';
import type { PostgresPool } from './postgres-pool.ts';

/** `migrations/011-audit.ts` */
const RECORD = {
  name: 'svault_record',
  text: 'SELECT svault_record($1, $2, $3, false, $4, $5, $6, $7) AS "leftOut"',
};

/** Events of one write: a few milliseconds, in which the account's other writers wait. */
const MAX_EVENTS = 200;
const MAX_WAIT_MS = 3_000;
const MAX_RUNS = 3;

/**
 * The log on the hot path: one round trip for all events of a vault that arrived during its former write.
 *
 * A write whose connection ends is not repeated, because it may have been committed. One that the server rolled back for a
 * conflict is.
 *
 * @param options.maxWrites that run at once
 */
export function createAuditCommit(options: {
  readonly pool: Pick<PostgresPool, 'run'>;
  readonly maxWrites: number;
  readonly clock: Clock;
  readonly observeCommit?: ObserveCommit | undefined;
}): AuditCommit {
  const { pool, clock, observeCommit } = options;

  const record = async (values: readonly unknown[]) => {
    for (let run = 1; ; run++) {
      try {
        return await pool.run<{ readonly leftOut: readonly number[] }>(RECORD, values);
      } catch (error) {
        if (run === MAX_RUNS || !isConflict(error)) throw error;
      }
    }
  };

  const write = async (vaultId: string, asked: readonly AuditEntry[]): Promise<boolean[]> => {
    const nowMs = clock.now();
    const now = formatTime(nowMs);
    const entries = asked.filter((entry) => !isExpired(entry, now));
    if (entries.length === 0) return asked.map(() => false);
    const texts = entries.map(({ event }) => hashedText(stampEvent(event, nowMs)));
    const touched = entries.map(({ event, touchCaller }) =>
      touchCaller ? (event.agentId ?? event.proxyId ?? null) : null,
    );
    const startedMs = clock.monotonic();
    const [row] = await record([
      vaultId,
      texts[0]?.beforeNumber ?? '',
      texts.map(({ behindNumber }) => behindNumber),
      entries.map(({ onlyIf }) => onlyIf?.accountRevision ?? null),
      usesOf(entries),
      touched.every((caller) => caller === null) ? null : touched,
      now,
    ]);
    observeCommit?.({ writes: entries.length, seconds: (clock.monotonic() - startedMs) / 1000 });
    const leftOut = new Set(row?.leftOut);
    const written = new Set(entries.filter((_, index) => !leftOut.has(index + 1)));
    return asked.map((entry) => written.has(entry));
  };

  const batcher = createBatcher<AuditEntry, boolean>({
    run: write,
    maxBatches: options.maxWrites,
    maxItems: MAX_EVENTS,
    maxWaitMs: MAX_WAIT_MS,
    monotonic: () => clock.monotonic(),
    tooLate: () => new StorageFailure('the audit log is written too slowly'),
  });
  const add = (entry: AuditEntry): Promise<boolean> => batcher.add(entry.event.vaultId, entry);
  return { write: add, commit: async (entry) => ((await add(entry)) ? ON_DISK : undefined) };
}

/** The server answers once an event is on its disk. */
const ON_DISK = { durable: Promise.resolve() };

/** Null where no event counts a use, as for most batches. */
function usesOf(entries: readonly AuditEntry[]): readonly (string | null)[] | null {
  if (entries.every(({ onlyIf }) => onlyIf === undefined || onlyIf.uses.length === 0)) return null;
  return entries.map(({ onlyIf }) =>
    onlyIf === undefined || onlyIf.uses.length === 0
      ? null
      : JSON.stringify(
          onlyIf.uses.map(({ targetType, targetId, ruleId, limit }) => [targetType, targetId, ruleId, limit]),
        ),
  );
}
