/** What a database consists of, without `schema_migrations`. */
export interface SchemaShape {
  /** By `table.column`. */
  readonly columns: Readonly<Record<string, ColumnShape>>;
  /** Indexes, constraints, triggers, views, functions, by a name that no two have. */
  readonly objects: Readonly<Record<string, ObjectShape>>;
}

export interface ColumnShape {
  readonly table: string;
  readonly definition: string;
  /** Whether a program that does not know the column can write a row. */
  readonly mayBeLeftOut: boolean;
}

export interface ObjectShape {
  /** Undefined for what belongs to no table. */
  readonly table?: string | undefined;
  readonly definition: string;
  /** An `index` refuses no row; a `condition` only rows with certain values in its columns; `other` may do anything. */
  readonly kind: 'index' | 'condition' | 'other';
  /** Of a condition, by `table.column`. */
  readonly columns?: readonly string[];
}

/** A database as a step finds it or leaves it. */
export interface SchemaState {
  readonly shape: SchemaShape;
  /** Of the former step's tables in the former step's columns, as text. */
  readonly rows: Readonly<Record<string, string>>;
}

/**
 * What keeps a step from being an `expand` step, one line each: anything but new tables, columns that former programs may
 * leave out, conditions on these, and indexes that refuse nothing.
 */
export function breaksOfExpand(before: SchemaState, after: SchemaState): string[] {
  const breaks: string[] = [];
  for (const part of ['columns', 'objects'] as const)
    for (const [name, { definition }] of Object.entries(before.shape[part])) {
      const now = after.shape[part][name]?.definition;
      if (now === undefined) breaks.push(`${name} is gone`);
      else if (now !== definition) breaks.push(`${name} was ${definition}, is ${now}`);
    }
  const formerTables = new Set(Object.values(before.shape.columns).map(({ table }) => table));
  const isNew = (column: string): boolean => before.shape.columns[column] === undefined;
  for (const [name, { table, definition, mayBeLeftOut }] of Object.entries(after.shape.columns))
    if (isNew(name) && formerTables.has(table) && !mayBeLeftOut)
      breaks.push(`${name} is new and cannot be left out: ${definition}`);
  for (const [name, { table, definition, kind, columns = [] }] of Object.entries(after.shape.objects)) {
    if (before.shape.objects[name] !== undefined || table === undefined || !formerTables.has(table)) continue;
    const concernsNobody = kind === 'condition' && columns.length > 0 && columns.every(isNew);
    if (kind !== 'index' && !concernsNobody) breaks.push(`${name} is new on ${table}: ${definition}`);
  }
  for (const [table, rows] of Object.entries(before.rows))
    if (after.rows[table] !== rows) breaks.push(`rows of ${table} were ${rows}, are ${after.rows[table]}`);
  return breaks;
}

/** Runs one statement on the database under inspection. */
export type Query = (sql: string) => Promise<readonly Readonly<Record<string, unknown>>[]>;

/** The rows of all tables of a shape, by table, as text; an error in place of those that cannot be read. */
export async function readRows(query: Query, shape: SchemaShape): Promise<Record<string, string>> {
  const rows: Record<string, string> = {};
  for (const [table, names] of columnsByTable(shape)) {
    const read = await query(`SELECT ${listOf(names)} FROM "${table}"`).catch((error: unknown) =>
      String(error),
    );
    rows[table] = JSON.stringify(read);
  }
  return rows;
}

/** Writes a row into each table that has none, so that a step finds data; without regard to keys and conditions. */
export async function fillTables(query: Query, shape: SchemaShape): Promise<void> {
  for (const [table, names] of columnsByTable(shape)) {
    if ((await query(`SELECT 1 FROM "${table}" LIMIT 1`)).length > 0) continue;
    const values = names.map((name) => valueFor(shape.columns[`${table}.${name}`]!.definition));
    await query(`INSERT INTO "${table}" (${listOf(names)}) VALUES (${values.join(', ')})`);
  }
}

const columnsByTable = ({ columns }: SchemaShape): [string, string[]][] =>
  Object.entries(Object.groupBy(Object.keys(columns), (name) => columns[name]!.table)).map(
    ([table, names = []]) => [table, names.map((name) => name.slice(table.length + 1))],
  );

const listOf = (names: readonly string[]): string => names.map((name) => `"${name}"`).join(', ');

function valueFor(definition: string): string {
  if (/^(integer|bigint|smallint|numeric|real|double)/i.test(definition)) return '7';
  if (/^blob/i.test(definition)) return "x'07'";
  if (/^timestamp/i.test(definition)) return "'2026-11-20T12:00:00Z'";
  return "'7'";
}
