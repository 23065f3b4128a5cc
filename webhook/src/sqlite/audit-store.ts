import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { AuditHead, AuditStore, ChainedEntry, Epoch } from '../audit/audit-store.ts';

/** What an entry may leave out, and a row has as null. */
type Optional = 'agentId' | 'proxyId' | 'userId' | 'serviceName' | 'count' | 'detail';
type Row = Omit<ChainedEntry, Optional> & {
  readonly [Name in Optional]: NonNullable<ChainedEntry[Name]> | null;
} & { readonly row: number };
type EpochRow = Omit<Epoch, 'restored'> & { readonly restored: 0 | 1 };

const SELECT = `SELECT row, epoch, seq, hash, source, id, event_type AS eventType, timestamp, outcome,
  agent_id AS agentId, proxy_id AS proxyId, user_id AS userId, service_name AS serviceName, count, detail
  FROM audit_log`;

/** The log in tables `epochs` and `audit_log`. */
export function createAuditStore(db: SqliteDatabase): AuditStore {
  const head = db.prepare<[], AuditHead>(
    'SELECT epoch, seq, hash FROM epochs ORDER BY position DESC LIMIT 1',
  );
  const startEpoch = db.prepare<EpochRow>(
    `INSERT INTO epochs (epoch, position, started_at, restored, seq, hash)
     VALUES (@epoch, (SELECT count(*) + 1 FROM epochs), @startedAtMs, @restored, @seq, @hash)`,
  );
  const insert = db.prepare(
    `INSERT INTO audit_log (epoch, seq, hash, source, id, event_type, timestamp, outcome,
                            agent_id, proxy_id, user_id, service_name, count, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const moveHead = db.prepare('UPDATE epochs SET seq = ?, hash = ? WHERE epoch = ?');
  const known = db.prepare(`SELECT 1 FROM audit_log WHERE id = (SELECT ?) AND source = 'service'`);
  const serviceEvent = db.prepare<[string], Row>(`${SELECT} WHERE id = (SELECT ?) AND source = 'service'`);
  const epochs = db.prepare<[], EpochRow>(
    'SELECT epoch, seq, hash, started_at AS startedAtMs, restored FROM epochs ORDER BY position',
  );
  const walk = db.prepare<[], Row>(`${SELECT} ORDER BY row`);

  return {
    head: () => head.get(),
    startEpoch: (epoch) => void startEpoch.run({ ...epoch, restored: epoch.restored ? 1 : 0 }),
    append: (entry, hash) => {
      const { epoch, seq, source, id, eventType, timestamp, outcome } = entry;
      const { agentId, proxyId, userId, serviceName, count, detail } = entry;
      // By their places: looking for 14 values by their names costs as much as the row.
      insert.run(
        ...[epoch, seq, hash, source, id, eventType, timestamp, outcome],
        ...[agentId, proxyId, userId, serviceName, count, detail],
      );
      moveHead.run(seq, hash, epoch);
    },
    hasServiceEvent: (id) => known.get(id) !== undefined,
    serviceEvent: (id) => {
      const row = serviceEvent.get(id);
      return row && toEntry(row);
    },
    page: ({ before, limit, agentId, serviceName }) => {
      const agent = agentId === undefined ? '' : 'AND agent_id = @agentId';
      const service = serviceName === undefined ? '' : 'AND service_name = @serviceName';
      const rows = db
        .prepare<[object], Row>(
          `${SELECT} WHERE row < @before ${agent} ${service} ORDER BY row DESC LIMIT @limit`,
        )
        .all({ before: before ?? Number.MAX_SAFE_INTEGER, agentId, serviceName, limit: limit + 1 });
      const items = rows.slice(0, Math.min(limit, countThatFit(rows)));
      const nextBefore = rows.length > items.length ? items.at(-1)?.row : undefined;
      return { items: items.map(toEntry), nextBefore };
    },
    epochs: () => epochs.all().map((epoch) => ({ ...epoch, restored: epoch.restored === 1 })),
    *walk() {
      for (const row of walk.iterate()) yield toEntry(row);
    },
  };
}

/** Of a page's details together: a reader may refuse an answer above 128 KiB (PROTOCOL.md TRN-38). */
const MAX_DETAIL_CHARACTERS = 64 * 1024;

/** How many rows a page has at most; one in any case. */
function countThatFit(rows: readonly Pick<Row, 'detail'>[]): number {
  let characters = 0;
  const tooMany = rows.findIndex(({ detail }) => (characters += detail?.length ?? 0) > MAX_DETAIL_CHARACTERS);
  return tooMany === -1 ? rows.length : Math.max(1, tooMany);
}

/** When the data was last restored from a backup, milliseconds since 1970; undefined: never. */
export const restoredAtMsOf = (store: Pick<AuditStore, 'epochs'>): number | undefined =>
  store.epochs().findLast(({ restored }) => restored)?.startedAtMs;

function toEntry({
  row: _row,
  agentId,
  proxyId,
  userId,
  serviceName,
  count,
  detail,
  ...entry
}: Row): ChainedEntry {
  return {
    ...entry,
    agentId: agentId ?? undefined,
    proxyId: proxyId ?? undefined,
    userId: userId ?? undefined,
    serviceName: serviceName ?? undefined,
    count: count ?? undefined,
    detail: detail ?? undefined,
  };
}
