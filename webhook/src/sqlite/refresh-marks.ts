import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { MarkState, RefreshMarks } from '../vault/refresh-marks.ts';

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
