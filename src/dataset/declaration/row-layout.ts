import * as z from 'zod';
import { formatTime } from '../../range.ts';
import { orNull, type Extra, unwrap, isObject } from './record.ts';

/** The part of a Drizzle table that a job needs: the type of inserted rows. */
export interface Table {
  readonly $inferInsert: object;
}

/** A column of a table that stores a member of a record. */
export interface MemberColumn {
  readonly name: string;
  readonly path: readonly string[];
  /** Unix seconds, whose column takes ISO text. */
  readonly isMoment: boolean;
}

/** A member without a column: kept in `extra` if it comes, or if it comes without any of its own `members`. */
export interface Noted {
  readonly path: readonly string[];
  readonly members?: readonly string[];
}

/**
 * How records of one kind become rows of one table. Values that are not members of the record are given with each row.
 */
export interface RowLayout<T extends Table = Table, Rec = unknown> {
  readonly table: T;
  readonly record: z.ZodType<Rec>;
  readonly columns: readonly MemberColumn[];
  readonly noted: readonly Noted[];
  /** The column of block time, if it is a member of the record. */
  readonly time: MemberColumn | undefined;
}

/** The values of columns that are not members of the record, and of `extra`, if the table has that column. */
export type Given<T extends Table> = Partial<T['$inferInsert']>;

/** Receives one row. */
export type Put = <T extends Table, Rec>(
  rowLayout: RowLayout<T, Rec>,
  record: Rec,
  given: Given<T>,
  extra?: Extra | null,
) => void;

type Row = Readonly<Record<string, unknown>>;

/** How a record with this schema becomes a row of a table. Its members are computed when the first record comes. */
export function rowLayoutOf<T extends Table, Rec>(table: T, record: z.ZodType<Rec>): RowLayout<T, Rec> {
  let found: FoundColumns | undefined;
  const members = () => (found ??= membersOf(record));
  return {
    table,
    record,
    get columns() {
      return members().columns;
    },
    get noted() {
      return members().noted;
    },
    get time() {
      return members().time;
    },
  };
}

/** For rows whose columns are all given. */
export function givenLayout<T extends Table>(table: T): RowLayout<T, null> {
  return { table, record: z.null(), columns: [], noted: [], time: undefined };
}

/** The `rows` of a job whose records are one row each, with every column a member. */
export function oneRow<Rec>(table: Table, schema: z.ZodType<Rec>) {
  const rowLayout = rowLayoutOf(table, schema);
  return (record: Rec, extra: Extra, put: Put): void => put(rowLayout, record, {}, extra);
}

/** The row of a record as an object. `extra` is omitted if the table lacks that column. */
export function rowOf(
  rowLayout: Pick<RowLayout, 'columns' | 'noted'>,
  record: unknown,
  given: object,
  extra?: Extra | null,
): Row {
  const row: Record<string, unknown> = {};
  for (const { name, path, isMoment } of rowLayout.columns) {
    const value = memberAt(record, path);
    row[name] = isMoment && value != null ? formatTime(Number(value)) : value;
  }
  return { ...row, ...given, ...(extra !== undefined && { extra: fullExtra(rowLayout, record, extra) }) };
}

/** Block time of a row; undefined if the table has none. */
export function timeOfRow({ time }: Pick<RowLayout, 'time'>, record: unknown, given: object) {
  if ('utime' in given && typeof given.utime === 'string') return given.utime;
  return time && formatTime(Number(memberAt(record, time.path)));
}

/** The members of a record without a column, and those that its schema does not name; null if there are none. */
export function fullExtra(
  { noted }: Pick<RowLayout, 'noted'>,
  record: unknown,
  extra: Extra | null,
): Extra | null {
  const all: Record<string, unknown> = { ...extra };
  for (const { path, members } of noted) {
    const value = memberAt(record, path);
    if (value == null) continue;
    if (members === undefined) all[path.join('.')] = value;
    else if (members.every((name) => memberAt(value, [name]) == null)) all[path.join('.')] = {};
  }
  return orNull(all);
}

type FoundColumns = Pick<RowLayout, 'columns' | 'noted' | 'time'>;

function membersOf(record: z.ZodType): FoundColumns {
  const columns: MemberColumn[] = [];
  const noted: Noted[] = [];
  collect(record, { path: [], prefix: '' }, { columns, noted });
  return { columns, noted, time: columns.find(({ name }) => name === 'utime') };
}

function collect(
  schema: z.core.$ZodType,
  { path: above, prefix }: { readonly path: readonly string[]; readonly prefix: string },
  found: { readonly columns: MemberColumn[]; readonly noted: Noted[] },
): void {
  const object = unwrap(schema);
  if (!(object instanceof z.ZodObject)) return;
  const shape: z.core.$ZodShape = object.shape;
  for (const [name, member] of Object.entries(shape)) {
    const path = [...above, name];
    const mapping = mappingOf(member) ?? { kind: 'column', name: `${prefix}${name}` };
    if (mapping.kind === 'column')
      found.columns.push({ name: mapping.name, path, isMoment: isMoment(unwrap(member)) });
    if (mapping.kind === 'extra') found.noted.push({ path });
    if (mapping.kind !== 'spread') continue;
    if (mapping.notesEmpty) found.noted.push({ path, members: namesIn(member) });
    collect(member, { path, prefix: mapping.prefix }, found);
  }
}

function namesIn(schema: z.core.$ZodType): string[] {
  const object = unwrap(schema);
  return object instanceof z.ZodObject ? Object.keys(object.shape) : [];
}

export function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((inner, name) => (isObject(inner) ? inner[name] : undefined), value);
}

export type Tables = Readonly<Record<string, Table>>;

/** The rows of one record, by table. */
export type RowsOf<T extends Tables> = { readonly [Name in keyof T]?: readonly T[Name]['$inferInsert'][] };

/** Rows by table name, as they are written. */
export type Rows = Readonly<Record<string, readonly object[] | undefined>>;

/** Collects rows as objects, by the names of their tables. */
export function collectRows(tables: Tables, visit: (put: Put) => void): Rows {
  const names = new Map<Table, string>(Object.entries(tables).map(([name, table]) => [table, name]));
  const rows: Record<string, object[]> = Object.fromEntries(Object.keys(tables).map((name) => [name, []]));
  visit(
    <T extends Table, Rec>(layout: RowLayout<T, Rec>, record: Rec, given: Given<T>, extra?: Extra | null) => {
      const name = names.get(layout.table);
      if (name === undefined) throw new TypeError('a row for a table that its job does not name');
      rows[name]?.push(rowOf(layout, record, given, extra));
    },
  );
  return rows;
}

/*
 * Which column stores a member of a record. By default, it is the column of the member's own name. Anything else is
 * declared around the member's schema, with these functions, and nowhere else.
 */

/** How a member is stored that has no column of its own name. */
type ColumnMapping =
  | { readonly kind: 'column'; readonly name: string }
  /** Its members are columns of the same row, with this prefix. */
  | { readonly kind: 'spread'; readonly prefix: string; readonly notesEmpty: boolean }
  /** No column: it has rows of its own, or other columns contain it. */
  | { readonly kind: 'elsewhere' }
  /** No column, because it is never sent: kept in `extra` if it comes. */
  | { readonly kind: 'extra' };

const mappings = new WeakMap<object, ColumnMapping>();
const moments = new WeakSet();

/** The member is stored in this column. */
export const column = <S extends z.ZodType>(name: string, schema: S): S =>
  withMapping(schema, { kind: 'column', name });

/** The members of the member are columns of the same row, with `prefix` before their names. */
export const spread = <S extends z.ZodType>(prefix: string, schema: S): S =>
  withMapping(schema, { kind: 'spread', prefix, notesEmpty: false });

/** Like `spread`. If it was sent empty, `extra` notes that, because no column shows it. */
export const phase = <S extends z.ZodType>(prefix: string, schema: S): S =>
  withMapping(schema, { kind: 'spread', prefix, notesEmpty: true });

/** The member has no column in the row: it has rows of its own, or other columns contain it. */
export const elsewhere = <S extends z.ZodType>(schema: S): S => withMapping(schema, { kind: 'elsewhere' });

/** The member has no column, because no server is known to send it. It is kept in `extra` if it comes. */
export const inExtra = <S extends z.ZodType>(schema: S): S => withMapping(schema, { kind: 'extra' });

export function mappingOf(schema: z.core.$ZodType): ColumnMapping | undefined {
  return mappings.get(schema);
}

/** Marks a schema of unix seconds, which are stored as timestamps. */
export function asMoment<S extends z.ZodType>(schema: S): S {
  moments.add(schema.def);
  return schema;
}

function isMoment(schema: z.core.$ZodType): boolean {
  return moments.has(schema._zod.def);
}

/** Creates a copy, because one schema is used for many members. */
function withMapping<S extends z.ZodType>(schema: S, mapping: ColumnMapping): S {
  const copy = schema.clone();
  mappings.set(copy, mapping);
  return copy;
}
