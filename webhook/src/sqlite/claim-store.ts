import type { SqliteDatabase } from '@svault/server-kit/sqlite';
import type { ClaimStore } from '../replay/claim-once.ts';
import type { TimeFloorStore } from '../replay/time-floor.ts';

/** Claims and the time floor in SQLite. A primary key makes a claim unique, over processes too. */
export function createClaimStore(db: SqliteDatabase): ClaimStore & TimeFloorStore {
  const insert = db.prepare<[string, number]>(
    'INSERT INTO claims (id, until) VALUES (?, ?) ON CONFLICT DO NOTHING',
  );
  const forget = db.prepare<[number, number]>(
    'DELETE FROM claims WHERE id IN (SELECT id FROM claims WHERE until < ? ORDER BY until LIMIT ?)',
  );
  const readFloor = db.prepare<[], number>('SELECT floor FROM time_floor').pluck();
  const raiseFloor = db.prepare<[number]>(
    `INSERT INTO time_floor (one, floor) VALUES (1, ?)
     ON CONFLICT DO UPDATE SET floor = max(floor, excluded.floor)`,
  );
  return {
    claim: (id, untilMs) => insert.run(id, untilMs).changes === 1,
    forget: (beforeMs, limit) => forget.run(beforeMs, limit).changes,
    floor: () => readFloor.get(),
    raiseFloor: (floorMs) => void raiseFloor.run(floorMs),
  };
}
