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
  readonly service_name: string;
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
    `SELECT service_name, version FROM refresh_marks JOIN records USING (service_name, version)
     WHERE state = 'may_be_spent' AND retired_at IS NULL ORDER BY service_name`,
  );
  return {
    get: (serviceName, version) => get.get(serviceName, version),
    put: ({ serviceName, version, state, sinceMs }) => void put.run(serviceName, version, state, sinceMs),
    remove: (serviceName, version) => void remove.run(serviceName, version),
    carryOver: (serviceName, from, to) => void carryOver.run(to, serviceName, from),
    mayBeSpent: () =>
      mayBeSpent.all().map(({ service_name: serviceName, version }) => ({ serviceName, version })),
  };
}

interface HeadRow {
  readonly service_name: string;
  readonly version: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly expiry_time: number | null;
  readonly settings: string;
}

interface Row extends HeadRow {
  readonly data_key: Buffer;
  readonly body: Buffer;
}

interface KeyRow {
  readonly row: number;
  readonly service_name: string;
  readonly version: number;
  readonly data_key: Buffer;
  readonly retired: 0 | 1;
}

const HEAD_COLUMNS = 'service_name, version, created_at, updated_at, expiry_time, settings';
const COLUMNS = `${HEAD_COLUMNS}, data_key, body`;
const FROM_LIVE = 'FROM records WHERE retired_at IS NULL';

/** Records in table `records`, their counters in `versions`; their data keys are what a rotation rewraps. */
export function createRecordStore(db: SqliteDatabase): RecordStore & Rewrappable {
  // In a subquery, so that SQLite does not plan the query again for each value (see server-kit's sqlite.ts).
  const live = db.prepare<[string], Row>(`SELECT ${COLUMNS} ${FROM_LIVE} AND service_name = (SELECT ?)`);
  const page = db.prepare<[string, number], HeadRow>(
    `SELECT ${HEAD_COLUMNS} ${FROM_LIVE} AND service_name > ? ORDER BY service_name LIMIT ?`,
  );
  const expiringPage = db.prepare<[string, number, number], HeadRow>(
    `SELECT ${HEAD_COLUMNS} ${FROM_LIVE} AND service_name > ? AND expiry_time < ?
     ORDER BY service_name LIMIT ?`,
  );
  const nextVersion = db
    .prepare<[string], number>(
      `INSERT INTO versions (kind, name, last) VALUES ('record', ?, 1)
       ON CONFLICT DO UPDATE SET last = last + 1 RETURNING last`,
    )
    .pluck();
  const insert = db.prepare(`INSERT INTO records (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const retire = db.prepare(
    'UPDATE records SET retired_at = ?, data_key = ? WHERE service_name = ? AND retired_at IS NULL',
  );
  const retiredVersions = db
    .prepare<[string, number], number>(
      // Rows keep the order in which they were live, independently of versions and clocks.
      'SELECT version FROM records WHERE service_name = ? AND retired_at >= ? ORDER BY row DESC',
    )
    .pluck();
  const retired = db.prepare<[string, number], Row>(
    `SELECT ${COLUMNS} FROM records WHERE service_name = ? AND version = ? AND retired_at IS NOT NULL`,
  );
  const supersede = db.prepare(
    `UPDATE records SET version = ?, updated_at = ?, expiry_time = ?, settings = ?, data_key = ?, body = ?
     WHERE service_name = ? AND version = ?`,
  );
  const eraseName = db.prepare('DELETE FROM records WHERE service_name = ? AND retired_at IS NOT NULL');
  const eraseOld = db.prepare('DELETE FROM records WHERE retired_at < ?');
  const keysAfter = db.prepare<[number, number], KeyRow>(
    `SELECT row, service_name, version, data_key, retired_at IS NOT NULL AS retired
     FROM records WHERE row > ? ORDER BY row LIMIT ?`,
  );
  const putKey = db.prepare('UPDATE records SET data_key = ? WHERE row = ?');

  return {
    live: (serviceName) => {
      const row = live.get(serviceName);
      return row && toRecord(row);
    },
    page: ({ after, limit, expiresBeforeMs }) => {
      const rows =
        expiresBeforeMs === undefined
          ? page.all(after, limit)
          : expiringPage.all(after, expiresBeforeMs, limit);
      return rows.map(toHead);
    },
    nextVersion: (serviceName) => {
      const version = nextVersion.get(serviceName);
      if (version === undefined) throw new Error('the version was not counted');
      return version;
    },
    insert: (record) => {
      insert.run(
        record.serviceName,
        record.version,
        record.createdAtMs,
        record.updatedAtMs,
        record.expiryTimeMs ?? null,
        record.settingsText,
        record.dataKey,
        record.body,
      );
    },
    retire: ({ serviceName, dataKey }, atMs) => void retire.run(atMs, dataKey, serviceName),
    retiredVersions: (serviceName, sinceMs) => retiredVersions.all(serviceName, sinceMs),
    retired: (serviceName, version) => {
      const row = retired.get(serviceName, version);
      return row && toRecord(row);
    },
    supersede: (version, record) =>
      supersede.run(
        record.version,
        record.updatedAtMs,
        record.expiryTimeMs ?? null,
        record.settingsText,
        record.dataKey,
        record.body,
        record.serviceName,
        version,
      ).changes === 1,
    erase: (which) =>
      'serviceName' in which
        ? eraseName.run(which.serviceName).changes
        : eraseOld.run(which.retiredBeforeMs).changes,
    rewrap: (move, after, limit) => {
      const rows = keysAfter.all(after, limit);
      for (const { row, service_name: serviceName, version, data_key: dataKey, retired } of rows) {
        const place = retired === 1 ? 'retired' : 'live';
        const moved = move(dataKey, dataKeyPurpose({ serviceName, version }, place));
        if (moved !== undefined) putKey.run(moved, row);
      }
      return rows.at(-1)?.row;
    },
  };
}

function toHead(row: HeadRow): RecordHead {
  return {
    serviceName: row.service_name,
    version: row.version,
    createdAtMs: row.created_at,
    updatedAtMs: row.updated_at,
    expiryTimeMs: row.expiry_time ?? undefined,
    settingsText: row.settings,
  };
}

function toRecord(row: Row): StoredRecord {
  return { ...toHead(row), dataKey: row.data_key, body: row.body };
}
