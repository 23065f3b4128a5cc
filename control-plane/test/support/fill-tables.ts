import type { SqliteDatabase } from '@svault/server-kit/sqlite';

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: number;
  readonly pk: number;
}

/** What quoting, escaping or an encoding may spoil on the way. */
export const oddText = (row: number): string =>
  `${row} é 😀 "q" 'q' \\x \\N {NULL,"},$1\u2028\uFFFD\uFEFF\n\t `;

/** The largest and the smallest that SQLite has, and one that a double cannot hold. */
const ODD_INTEGERS = [9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n, 9_007_199_254_740_993n];

/** Written by the audit log itself, by the first start and by the migrations. */
const OWN = ['audit_events', 'audit_chains', 'sealing_keys', 'schema_migrations'];

/**
 * Writes three rows into every table; where columns may be null, they are null in the last row. All texts of a row are
 * the same in all tables, so that each reference finds its row.
 */
export function fillEveryTable(sqlite: SqliteDatabase): void {
  const tables = sqlite
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    .pluck()
    .all()
    .filter((name) => !OWN.includes(name));
  sqlite.pragma('foreign_keys = OFF');
  for (const table of tables) {
    const columns = sqlite.prepare<[string], Column>('SELECT * FROM pragma_table_info(?)').all(table);
    const insert = sqlite.prepare(`INSERT INTO ${table} VALUES (${columns.map(() => '?').join()})`);
    for (const [row, bigint] of ODD_INTEGERS.entries())
      insert.run(
        ...columns.map(({ type, notnull, pk }) => {
          if (row === ODD_INTEGERS.length - 1 && notnull === 0 && pk === 0) return null;
          if (type === 'text') return oddText(row);
          return type === 'bigint' ? bigint : 2 ** 31 - 1 - row;
        }),
      );
  }
  sqlite.pragma('foreign_keys = ON');
}
