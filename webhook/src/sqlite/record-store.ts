import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { Rewrappable } from '../vault/master-key-rotation.ts';
import { dataKeyPurpose } from '../vault/record-envelope.ts';
import type {
  MarkState,
  RecordHead,
  RecordStore,
  RefreshMarks,
  StoredRecord,
} from '../vault/record-store.ts';

interface VersionRow {
  readonly serviceName: string;
  readonly version: number;
}

/** Marks in table `refresh_marks`. */
export function createRefreshMarks(db: SqliteDatabase): RefreshMarks {
  const get = db
    .prepare<[string, number], MarkState>(
      'SELECT state FROM refresh_marks WHERE service_name = ? AND version = ?',
    )
    .pluck();
  const put = db.prepare<[string, number, MarkState, number]>(
    `INSERT INTO refresh_marks (service_name, version, state, since) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, since = excluded.since`,
  );
  const remove = db.prepare<[string, number]>(
    'DELETE FROM refresh_marks WHERE service_name = ? AND version = ?',
  );
  const carryOver = db.prepare<[number, string, number]>(
    `INSERT INTO refresh_marks (service_name, version, state, since)
     SELECT service_name, ?, state, since FROM refresh_marks WHERE service_name = ? AND version = ?`,
  );
  const mayBeSpent = db.prepare<[], VersionRow>(
    `SELECT service_name AS serviceName, version FROM refresh_marks JOIN records USING (service_name, version)
     WHERE state = 'may_be_spent' AND retired_at IS NULL ORDER BY service_name`,
  );
  return {
    get: (serviceName, version) => get.get(serviceName, version),
    put: ({ serviceName, version, state, sinceMs }) => void put.run(serviceName, version, state, sinceMs),
    remove: (serviceName, version) => void remove.run(serviceName, version),
    carryOver: (serviceName, from, to) => void carryOver.run(to, serviceName, from),
    mayBeSpent: () => mayBeSpent.all(),
  };
}

interface KeyRow extends VersionRow {
  readonly row: number;
  readonly wrappedDataKey: Buffer;
  readonly retired: 0 | 1;
}

const HEAD = `service_name AS serviceName, version, created_at AS createdAtMs, updated_at AS updatedAtMs,
  expiry_time AS expiryTimeMs, settings AS settingsText`;
const WHOLE = `${HEAD}, data_key AS wrappedDataKey, body`;
const FROM_LIVE = 'FROM records WHERE retired_at IS NULL';

/** Records in table `records`, their counters in `versions`; their data keys are what a rotation rewraps. */
export function createRecordStore(db: SqliteDatabase): RecordStore & Rewrappable {
  // In a subquery, so that SQLite does not plan the query again for each value (see server-kit's sqlite.ts).
  const live = db.prepare<[string], StoredRecord>(
    `SELECT ${WHOLE} ${FROM_LIVE} AND service_name = (SELECT ?)`,
  );
  const page = db.prepare<[string, number], RecordHead>(
    `SELECT ${HEAD} ${FROM_LIVE} AND service_name > ? ORDER BY service_name LIMIT ?`,
  );
  const expiringPage = db.prepare<[string, number, number], RecordHead>(
    `SELECT ${HEAD} ${FROM_LIVE} AND service_name > ? AND expiry_time < ? ORDER BY service_name LIMIT ?`,
  );
  const insert = db.prepare<StoredRecord>(
    `INSERT INTO records (service_name, version, created_at, updated_at, expiry_time, settings, data_key, body)
     VALUES (@serviceName, @version, @createdAtMs, @updatedAtMs, @expiryTimeMs, @settingsText, @wrappedDataKey, @body)`,
  );
  const retire = db.prepare(
    'UPDATE records SET retired_at = ?, data_key = ? WHERE service_name = ? AND retired_at IS NULL',
  );
  const retiredVersions = db
    .prepare<[string, number], number>(
      // Rows keep the order in which they were live, independently of versions and clocks.
      'SELECT version FROM records WHERE service_name = ? AND retired_at >= ? ORDER BY row DESC',
    )
    .pluck();
  const retired = db.prepare<[string, number], StoredRecord>(
    `SELECT ${WHOLE} FROM records WHERE service_name = ? AND version = ? AND retired_at IS NOT NULL`,
  );
  const supersede = db.prepare<StoredRecord & { readonly former: number }>(
    `UPDATE records SET version = @version, updated_at = @updatedAtMs, expiry_time = @expiryTimeMs,
       settings = @settingsText, data_key = @wrappedDataKey, body = @body
     WHERE service_name = @serviceName AND version = @former`,
  );
  const eraseName = db.prepare('DELETE FROM records WHERE service_name = ? AND retired_at IS NOT NULL');
  const eraseOld = db.prepare('DELETE FROM records WHERE retired_at < ?');
  const keysAfter = db.prepare<[number, number], KeyRow>(
    `SELECT row, service_name AS serviceName, version, data_key AS wrappedDataKey, retired_at IS NOT NULL AS retired
     FROM records WHERE row > ? ORDER BY row LIMIT ?`,
  );
  const putKey = db.prepare('UPDATE records SET data_key = ? WHERE row = ?');

  return {
    live: (serviceName) => live.get(serviceName),
    page: ({ after, limit, expiresBeforeMs }) =>
      expiresBeforeMs === undefined
        ? page.all(after, limit)
        : expiringPage.all(after, expiresBeforeMs, limit),
    nextVersion: versionCounter(db, 'record'),
    insert: (record) => void insert.run(record),
    retire: ({ serviceName, wrappedDataKey }, atMs) => void retire.run(atMs, wrappedDataKey, serviceName),
    retiredVersions: (serviceName, sinceMs) => retiredVersions.all(serviceName, sinceMs),
    retired: (serviceName, version) => retired.get(serviceName, version),
    supersede: (former, record) => supersede.run({ ...record, former }).changes === 1,
    erase: (which) =>
      'serviceName' in which
        ? eraseName.run(which.serviceName).changes
        : eraseOld.run(which.retiredBeforeMs).changes,
    rewrap: (move, after, limit) => {
      const rows = keysAfter.all(after, limit);
      for (const { row, wrappedDataKey, retired: isRetired, ...version } of rows) {
        const moved = move(wrappedDataKey, dataKeyPurpose(version, isRetired === 1 ? 'retired' : 'live'));
        if (moved !== undefined) putKey.run(moved, row);
      }
      return rows.at(-1)?.row;
    },
  };
}

/** Counts the versions of a name in table `versions`, which outlives what they were of. */
export function versionCounter(db: SqliteDatabase, kind: 'record' | 'proxy'): (name: string) => number {
  const count = db
    .prepare<[string, string], number>(
      `INSERT INTO versions (kind, name, last) VALUES (?, ?, 1)
       ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last`,
    )
    .pluck();
  return (name) => {
    const version = count.get(kind, name);
    if (version === undefined) throw new Error('the version was not counted');
    return version;
  };
}
