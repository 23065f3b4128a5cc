/*
 * Rows and entities of the same members: a column has the member's name in snake case, null for undefined, 0 and 1 for
 * booleans (SQLite binds none), and JSON for lists and objects.
 */

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

type ColumnOf<Value, Absent> = Value extends undefined
  ? Absent
  : Value extends boolean
    ? 0 | 1
    : Value extends string | number | null
      ? Value
      : string;

/** An entity's row as it is read. */
export type RowOf<Entity> = {
  -readonly [Name in keyof Entity & string as SnakeCase<Name>]-?: ColumnOf<Entity[Name], null>;
};

type ChangesOf<Entity> = {
  [Name in keyof Entity & string as SnakeCase<Name>]: ColumnOf<Entity[Name], undefined>;
};

type EntityOf<Row> = {
  readonly [Name in keyof Row & string as CamelCase<Name>]: null extends Row[Name]
    ? Exclude<Row[Name], null> | undefined
    : Row[Name];
};

const memberNames = new Map<string, string>();

function memberName(column: string): string {
  const known = memberNames.get(column);
  if (known !== undefined) return known;
  const name = column.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  memberNames.set(column, name);
  return name;
}

/** Every column becomes a member, so read only columns that may leave `store/`. Flags and JSON stay as they are stored. */
export const toEntity = <Row extends object>(row: Row): EntityOf<Row> =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [memberName(column), value ?? undefined]),
  ) as EntityOf<Row>;

/** The row of an entity. */
export const toRow = <Entity extends object>(entity: Entity): RowOf<Entity> =>
  columns(entity, (value) => columnValue(value) ?? null) as RowOf<Entity>;

/** To update with: Kysely leaves out undefined members. */
export const toChanges = <Changes extends object>(changes: Changes): ChangesOf<Changes> =>
  columns(changes, columnValue) as ChangesOf<Changes>;

const columns = (entity: object, toColumn: (value: unknown) => unknown): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(entity).map(([name, value]: [string, unknown]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      toColumn(value),
    ]),
  );

function columnValue(value: unknown): unknown {
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : value;
}
