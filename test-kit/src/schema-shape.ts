import type { ColumnShape, ObjectShape, Query, SchemaShape } from './expand-rule.ts';

/** Of a SQLite database. */
export async function sqliteShape(query: Query): Promise<SchemaShape> {
  const columns: Record<string, ColumnShape> = {};
  const objects: Record<string, ObjectShape> = {};
  const read = async <Row>(sql: string): Promise<readonly Row[]> => (await query(sql)) as readonly Row[];
  for (const { type, name, tab: table, sql } of await read<Record<'type' | 'name' | 'tab' | 'sql', string>>(
    `SELECT type, name, tbl_name AS tab, sql FROM sqlite_schema
     WHERE name NOT LIKE 'sqlite_%' AND name <> 'schema_migrations'`,
  )) {
    if (type !== 'table') {
      const kind = /^CREATE\s+INDEX/i.test(sql) ? 'index' : 'other';
      objects[`${type} ${name}`] = { table, definition: sql, kind };
      continue;
    }
    const named = await read<{ name: string; definition: string; optional: number }>(
      `SELECT name, type || iif("notnull", ' NOT NULL', '') || iif(dflt_value IS NULL, '', ' DEFAULT ' || dflt_value)
         || iif(pk, ' PRIMARY KEY ' || pk, '') AS definition, NOT pk AND (NOT "notnull" OR dflt_value IS NOT NULL) AS optional
       FROM pragma_table_xinfo('${table}') ORDER BY cid`,
    );
    for (const { name: column, definition, optional } of named)
      columns[`${table}.${column}`] = { table, definition, mayBeLeftOut: optional === 1 };
    // What has no name of its own is known by its text.
    for (const { definition } of await read<{ definition: string }>(
      `SELECT 'UNIQUE ' || group_concat(i.name) AS definition
       FROM pragma_index_list('${table}') l, pragma_index_info(l.name) i WHERE l.origin <> 'c' GROUP BY l.name`,
    ))
      objects[`${table} ${definition}`] = { table, definition, kind: 'other' };
    for (const { definition, column } of await read<{ definition: string; column: string }>(
      `SELECT "from" AS column, "from" || ' REFERENCES ' || "table" || ' ' || coalesce("to", '') || ' ' || on_delete AS definition
       FROM pragma_foreign_key_list('${table}')`,
    ))
      objects[`${table} ${definition}`] = {
        ...{ table, definition, kind: 'condition', columns: [`${table}.${column}`] },
      };
    for (const definition of checksOf(sql)) {
      const ofTable = named.map((column) => column.name);
      const mentioned = ofTable.filter((column) => new RegExp(`\\b${column}\\b`).test(definition));
      objects[`${table} ${definition}`] = {
        ...{ table, definition, kind: 'condition' },
        columns: mentioned.map((column) => `${table}.${column}`),
      };
    }
  }
  return { columns, objects };
}

/** Each `CHECK (…)` of a statement that makes a table. */
function checksOf(sql: string): string[] {
  return [...sql.matchAll(/\bCHECK\s*\(/gi)].map(({ index, 0: opening }) => {
    let depth = 1;
    let end = index + opening.length;
    for (; depth > 0; end += 1) depth += sql[end] === '(' ? 1 : sql[end] === ')' ? -1 : 0;
    return sql.slice(index, end);
  });
}

const OURS = "'public'::regnamespace";

/** Of a PostgreSQL database. */
export async function postgresShape(query: Query): Promise<SchemaShape> {
  const columns: Record<string, ColumnShape> = {};
  const objects: Record<string, ObjectShape> = {};
  const named = (await query(`
    SELECT c.relname AS table, a.attname AS column, NOT a.attnotnull OR d.adbin IS NOT NULL AS "mayBeLeftOut",
      concat_ws(' ', format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation, CASE WHEN a.attnotnull THEN 'NOT NULL' END,
        'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid), a.attidentity, a.attgenerated) AS definition
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relkind = 'r' AND c.relnamespace = ${OURS} AND c.relname <> 'schema_migrations' AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY c.relname, a.attnum`)) as unknown as readonly (ColumnShape & { readonly column: string })[];
  for (const { column, ...shape } of named) columns[`${shape.table}.${column}`] = shape;
  const others = (await query(`
    SELECT 'index ' || indexrelid::regclass AS name, indrelid::regclass::text AS table, pg_get_indexdef(indexrelid) AS definition,
      CASE WHEN indisunique THEN 'other' ELSE 'index' END AS kind, NULL::text[] AS columns
    FROM pg_index JOIN pg_class c ON c.oid = indrelid WHERE c.relnamespace = ${OURS}
    UNION ALL SELECT concat('constraint ', conname, ' of ', conrelid::regclass), conrelid::regclass::text, pg_get_constraintdef(oid),
      CASE WHEN contype IN ('c', 'f') THEN 'condition' ELSE 'other' END,
      ARRAY(SELECT concat(conrelid::regclass, '.', attname) FROM pg_attribute WHERE attrelid = conrelid AND attnum = ANY (conkey))
    FROM pg_constraint WHERE connamespace = ${OURS} AND contype <> 'n'
    UNION ALL SELECT concat('trigger ', tgname, ' of ', tgrelid::regclass), tgrelid::regclass::text, pg_get_triggerdef(oid), 'other', NULL
    FROM pg_trigger WHERE NOT tgisinternal
    UNION ALL SELECT 'view ' || viewname, NULL, definition, 'other', NULL FROM pg_views WHERE schemaname = 'public'
    UNION ALL SELECT 'function ' || oid::regprocedure, NULL, pg_get_functiondef(oid), 'other', NULL
    FROM pg_proc WHERE pronamespace = ${OURS}`)) as unknown as readonly (ObjectShape & {
    readonly name: string;
  })[];
  for (const { name, table, columns: concerned, ...shape } of others)
    objects[name] = { ...shape, table: table ?? undefined, columns: concerned ?? [] };
  return { columns, objects };
}
