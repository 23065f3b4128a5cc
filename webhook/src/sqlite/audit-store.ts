import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { AuditHead, AuditStore, ChainedEntry, Epoch } from '../audit/audit-store.ts';

interface LogRow {
  readonly row: number;
  readonly epoch: string;
  readonly seq: number;
  readonly hash: string;
  readonly source: 'webhook' | 'service';
  readonly id: string;
  readonly event_type: string;
  readonly timestamp: string;
  readonly outcome: string;
  readonly agent_id: string | null;
  readonly proxy_id: string | null;
  readonly user_id: string | null;
  readonly service_name: string | null;
  readonly count: number | null;
  readonly detail: string | null;
}

interface EpochRow extends AuditHead {
  readonly started_at: number;
  readonly restored: 0 | 1;
}

/** The log in tables `epochs` and `audit_log`. */
export function createAuditStore(db: SqliteDatabase): AuditStore {
  const head = db.prepare<[], AuditHead>(
    'SELECT epoch, seq, hash FROM epochs ORDER BY position DESC LIMIT 1',
  );
  const startEpoch = db.prepare(
    `INSERT INTO epochs (epoch, position, started_at, restored, seq, hash)
     VALUES (?, (SELECT count(*) + 1 FROM epochs), ?, ?, ?, ?)`,
  );
  const insert = db.prepare(
    `INSERT INTO audit_log (epoch, seq, hash, source, id, event_type, timestamp, outcome,
                            agent_id, proxy_id, user_id, service_name, count, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const moveHead = db.prepare('UPDATE epochs SET seq = ?, hash = ? WHERE epoch = ?');
  const known = db.prepare(`SELECT 1 FROM audit_log WHERE id = (SELECT ?) AND source = 'service'`);
  const epochs = db.prepare<[], EpochRow>('SELECT * FROM epochs ORDER BY position');
  const walk = db.prepare<[], LogRow>('SELECT * FROM audit_log ORDER BY row');
  const newestFirst = (condition: string) =>
    db.prepare<
      [{ before: number; agentId: string | null; serviceName: string | null; limit: number }],
      LogRow
    >(`SELECT * FROM audit_log WHERE row < @before ${condition} ORDER BY row DESC LIMIT @limit`);
  const pages = {
    all: newestFirst(''),
    agent: newestFirst('AND agent_id = @agentId'),
    service: newestFirst('AND service_name = @serviceName'),
    both: newestFirst('AND agent_id = @agentId AND service_name = @serviceName'),
  };

  return {
    head: () => head.get(),
    startEpoch: ({ epoch, startedAtMs, restored, seq, hash }) =>
      void startEpoch.run(epoch, startedAtMs, restored ? 1 : 0, seq, hash),
    append: (entry) => {
      insert.run(
        entry.epoch,
        entry.seq,
        entry.hash,
        entry.source,
        entry.id,
        entry.eventType,
        entry.timestamp,
        entry.outcome,
        entry.agentId ?? null,
        entry.proxyId ?? null,
        entry.userId ?? null,
        entry.serviceName ?? null,
        entry.count ?? null,
        entry.detail ?? null,
      );
      moveHead.run(entry.seq, entry.hash, entry.epoch);
    },
    hasServiceEvent: (id) => known.get(id) !== undefined,
    page: ({ before, limit, agentId, serviceName }) => {
      const which =
        agentId === undefined
          ? serviceName === undefined
            ? pages.all
            : pages.service
          : serviceName === undefined
            ? pages.agent
            : pages.both;
      const rows = which.all({
        before: before ?? Number.MAX_SAFE_INTEGER,
        agentId: agentId ?? null,
        serviceName: serviceName ?? null,
        limit: limit + 1,
      });
      const items = rows.slice(0, limit);
      const nextBefore = rows.length > limit ? items.at(-1)?.row : undefined;
      return { items: items.map(toEntry), nextBefore };
    },
    epochs: () => epochs.all().map(toEpoch),
    *walk() {
      for (const row of walk.iterate()) yield toEntry(row);
    },
  };
}

function toEpoch({ epoch, seq, hash, started_at, restored }: EpochRow): Epoch {
  return { epoch, seq, hash, startedAtMs: started_at, restored: restored === 1 };
}

function toEntry(row: LogRow): ChainedEntry {
  return {
    epoch: row.epoch,
    seq: row.seq,
    hash: row.hash,
    source: row.source,
    id: row.id,
    eventType: row.event_type,
    timestamp: row.timestamp,
    outcome: row.outcome,
    agentId: row.agent_id ?? undefined,
    proxyId: row.proxy_id ?? undefined,
    userId: row.user_id ?? undefined,
    serviceName: row.service_name ?? undefined,
    count: row.count ?? undefined,
    detail: row.detail ?? undefined,
  };
}
