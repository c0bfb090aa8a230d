import { getTableColumns, getTableName, sql, type BuildExtraConfigColumns } from 'drizzle-orm';
import * as pg from 'drizzle-orm/pg-core';
import type { PgColumnBuilderBase, PgTable } from 'drizzle-orm/pg-core';
import type { Table } from '../dataset/declaration/record.ts';
import type { AnyJob, Dataset } from '../dataset/dataset.ts';

/** The data that analysts query. */
export const ton = pg.pgSchema('ton');

/** The program's own tables: coverage, leases, refusals, quarantine, logs. */
export const etl = pg.pgSchema('etl');

const meanings = new WeakMap<PgColumnBuilderBase, string>();

/** A kind of column: a function that takes the comment of a column and makes the column. */
export const kind =
  <B extends PgColumnBuilderBase>(make: () => B) =>
  (meaning: string): B => {
    const column = make();
    meanings.set(column, meaning);
    return column;
  };

/** A kind whose values are strings in JavaScript: as numbers, they would lose digits. */
const textual = (type: string) => {
  const make = pg.customType<{ data: string; driverData: string }>({ dataType: () => type });
  return kind(() => make());
};

export const text = kind(() => pg.text());
export const texts = kind(() => pg.text().array());
export const boolean = kind(() => pg.boolean());
export const integer = kind(() => pg.integer());
export const jsonb = kind(() => pg.jsonb());
export const doublePrecision = kind(() => pg.doublePrecision());
export const doublePrecisions = kind(() => pg.doublePrecision().array());
export const date = kind(() => pg.date());

/** A logical time or a count of gas: 64 bits. */
export const int8 = textual('bigint');

const bigint = () => pg.bigint({ mode: 'number' });

/** Unix seconds, or another count that fits into a JavaScript number. */
export const count8 = kind(bigint);
export const counts = kind(() => bigint().array());

/** The number of a row of the program's own, which Postgres gives it. */
export const identity = kind(() => bigint().primaryKey().generatedAlwaysAsIdentity());

/** Nanotons, jetton units and other integers of at most 38 digits, which every reader supports. The chain's have 37. */
export const amount = textual('numeric(38,0)');

/** A whole number of up to 256 bits, such as an item's index. */
export const wide = kind(() => pg.numeric());

/** With the digits that clients read. */
export const decimal = (scale: number) => kind(() => pg.numeric({ precision: 38, scale }));

const timestamp = () => pg.timestamp({ withTimezone: true, mode: 'string' });

/** A moment of time, written as ISO 8601 text. */
export const moment = kind(timestamp);

/** When the row was made or changed, on the clock of the database. */
export const stamp = kind(() => timestamp().notNull().defaultNow());

/** Block time: stream tables are partitioned by this column, which has the same name in each of them. */
export const utime = kind(() => timestamp().notNull());

/** A 256-bit hash in base64 (44 characters), as the API prints it. */
export const hash = text;

/** A raw account address, `workchain:HEX` in upper case, as the API prints it. */
export const address = text;

/** The pool or account that a dataset is read for; empty if it is read whole. */
export const scope = kind(() => pg.text().notNull().default(''));

/** Which reading of a second: 0 the first, 1 the second one. */
export const pass = kind(() => pg.smallint().notNull().default(0));

/** The row's last change: the only column that differs between two runs. */
export const loadedAt = () => timestamp().notNull().defaultNow();

/** The last columns of a row that is read: members without a column of their own, and when it was written. */
export const restColumns = (extra?: string) => ({
  extra: extra === undefined ? pg.jsonb() : jsonb(extra),
  loaded_at: loadedAt(),
});

/** Ranges of unix seconds, as Postgres' text. */
export const int8range = textual('int8range');
export const int8multirange = textual('int8multirange');

/**
 * The text comment in a body that the server has decoded. Postgres derives it whenever it writes the row, so no writer
 * can forget it or make it differ from the body.
 */
export const commentIn = (decoded: string, meaning: string) =>
  text(meaning).generatedAlwaysAs(
    sql.raw(`case when jsonb_typeof(${decoded} -> 'comment') = 'string' then ${decoded} ->> 'comment' end`),
  );

/** The digits of a `wide` column, derived as `commentIn` is, for tools whose widest number or float is too short. */
export const digitsOf = (column: string, member: string) =>
  text(
    `The number ${column} as text, with every digit: for tools whose numbers have fewer. From ${member}.`,
  ).generatedAlwaysAs(sql`${sql.identifier(column)}::text`);

/** What happens if a row with the same key exists. */
type Conflict<Column extends string> =
  /** The row cannot change: the first one is kept. */
  | { readonly kind: 'keep' }
  /** The row cannot change, but these members may arrive later than the rest: they are filled if they are null. */
  | { readonly kind: 'fill'; readonly columns: readonly Column[] }
  /** The row changes: it is replaced if `by` is not older and something differs. */
  | { readonly kind: 'newer'; readonly by: Column }
  /** The row changes, and nothing in it tells which copy is newer: if it differs, the one that was read last is kept. */
  | { readonly kind: 'replace' }
  /**
   * The row is a version of the thing that the key names without its last column, which says when the version was seen
   * first. It is kept only if it differs from the version before, and `by` is not older.
   */
  | { readonly kind: 'version'; readonly by: Column };

/**
 * A new row replaces older ones of the same thing even if their keys differ, because block time is part of the key. An
 * example is a trace that ended again, later.
 */
interface Supersedes<Column extends string> {
  /** Columns that identify the thing. */
  readonly columns: readonly Column[];
  /** The table in which older copies are searched: this one, or the parent table whose rows this one's are parts of. */
  readonly of: string;
}

interface Facts<Column extends string> {
  /** What one row is. */
  readonly comment: string;
  /** The path of a column's member, with `*` for the column's name; or paths by prefixes of names, the longest last. */
  readonly from?: string | Readonly<Record<string, string>>;
  /** The dataset that owns the table; omitted if only one fills it. */
  readonly owner?: string;
  /**
   * Other columns that some copies of a row lack, because servers fill them later: a null there does not contradict a
   * value.
   */
  readonly lacking?: readonly Column[];
  readonly supersedes?: Supersedes<Column>;
  /**
   * Set if several records contain the same row, possibly on neighboring pages: one record for each of these columns
   * that is not null.
   */
  readonly shared?: { readonly ends: readonly Column[] };
  /** Set if the table is range-partitioned by `utime`. */
  readonly partitioned?: true;
}

type Columns = Readonly<Record<string, PgColumnBuilderBase>>;

interface Declared<C extends Columns> extends Facts<keyof C & string> {
  /**
   * The comment of each says its meaning, unit, source member, and why it may be null. At least 20 characters; all are
   * different. With `from`, a text that names no source gets the column's own member. If the column may be null and the
   * text does not say when, it is null only if its member is not sent.
   */
  readonly columns: C;
  /** Columns of the primary key in its order, if there are several. A key of one column is declared with it. */
  readonly key?: readonly (keyof C & string)[];
  readonly indexes?: (columns: BuildExtraConfigColumns<string, C, 'pg'>) => pg.PgTableExtraConfigValue[];
}

export interface TableFacts extends Omit<Facts<string>, 'partitioned' | 'from'> {
  /** The comment of each column. */
  readonly columns: Readonly<Record<string, string>>;
  /** Columns of the primary key, in its order. */
  readonly key: readonly string[];
  readonly conflict: Conflict<string>;
  readonly partitioned: boolean;
}

const described = new WeakMap<object, TableFacts>();

/** Declares a table of the data: columns with their comments, what happens if a row comes again, partitioning. */
export function tonTable<N extends string, C extends Columns>(
  name: N,
  given: Declared<C> & { readonly conflict: Conflict<keyof C & string> },
) {
  return remembered(ton.table(name, given.columns, keysOf(name, given)), given);
}

/** Declares a table of the program's own. Pages do not fill it, so it has no rule of conflict. */
export function etlTable<N extends string, C extends Columns>(name: N, given: Declared<C>) {
  const table = etl.table(name, given.columns, keysOf(name, given));
  return remembered(table, { conflict: { kind: 'keep' }, ...given });
}

/** Characters of the longest name in Postgres. */
const LONGEST_NAME = 63;

function keysOf<C extends Columns>(table: string, { key = [], indexes }: Declared<C>) {
  return (columns: BuildExtraConfigColumns<string, C, 'pg'>) => {
    const [first, ...others] = key.map((name) => columns[name]);
    const rest = indexes?.(columns) ?? [];
    if (first === undefined) return rest;
    const long = `${table}_${key.join('_')}_pk`;
    const name = long.length > LONGEST_NAME ? `${table}_pkey` : long;
    return [pg.primaryKey({ name, columns: [first, ...others] }), ...rest];
  };
}

interface GivenFacts extends Facts<string> {
  readonly columns: Columns;
  readonly key?: readonly string[];
  readonly conflict: Conflict<string>;
}

function remembered<T extends PgTable>(table: T, given: GivenFacts): T {
  const ownKey = Object.values(getTableColumns(table)).filter(({ primary }) => primary);
  described.set(table, {
    key: ownKey.map(({ name }) => name),
    ...given,
    partitioned: given.partitioned ?? false,
    get columns() {
      return columnComments(table, given);
    },
  });
  return table;
}

/** Texts that say themselves where a value comes from. */
const NAMES_SOURCE =
  /\b(?:From|The (?:hash|index|length|request|seqno) (?:of|in)) |by the program|^Members of/;

function columnComments(table: PgTable, { columns, from }: GivenFacts): Record<string, string> {
  const paths = Object.entries(typeof from === 'string' ? { '': from } : (from ?? {}));
  const ofEveryTable: Partial<Record<string, string>> = {
    extra: `Members of ${paths[0]?.[1].replace('.*', '')} that this version of the program has no column for, by dotted path; null if there are none.`,
    loaded_at: `When this row of ${getTableName(table)} was last written by the program, wall time, UTC.`,
  };
  const comments = Object.values(getTableColumns(table)).map(({ name, notNull }): [string, string] => {
    const column = columns[name];
    const meaning = (column && meanings.get(column)) ?? ofEveryTable[name];
    if (meaning === undefined)
      throw new TypeError(`${getTableName(table)} has a column ${name} without a comment: give it a kind`);
    const [prefix, path] = paths.findLast(([start]) => name.startsWith(start)) ?? [];
    if (prefix === undefined || path === undefined || NAMES_SOURCE.test(meaning)) return [name, meaning];
    const isExplained = notNull || /\bnull\b/i.test(meaning);
    const source = path.replaceAll('*', name.slice(prefix.length));
    return [name, `${meaning} From ${source}${isExplained ? '' : '; null only if not sent'}.`];
  });
  return Object.fromEntries(comments);
}

/** Throws if the table was declared in another way, which is a mistake in its file. */
export function factsOf(table: object): TableFacts {
  const facts = described.get(table);
  if (facts === undefined) throw new TypeError('a table that neither tonTable() nor etlTable() declares');
  return facts;
}

export function commentsOf(table: PgTable): string[] {
  const { schema, name } = pg.getTableConfig(table);
  const { comment, columns } = factsOf(table);
  const title = `"${schema ?? 'public'}"."${name}"`;
  const ofColumns = Object.entries(columns).map(
    ([column, meaning]) => `comment on column ${title}."${column}" is ${literal(meaning)};`,
  );
  return [`comment on table ${title} is ${literal(comment)};`, ...ofColumns];
}

/** A text as an SQL literal. */
export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Datasets that fill a table, the owner first. If there are several, `owner` in the table's declaration names it. */
export function ownersOf<J extends AnyJob>(table: string, datasets: readonly Dataset<J>[]): Dataset<J>[] {
  const filling = datasets.filter(({ job }) => table in job.tables);
  const isOther = ({ name, job }: Dataset<J>) => {
    const own = job.tables[table];
    return Number(own !== undefined && (factsOf(own).owner ?? name) !== name);
  };
  return filling.toSorted((a, b) => isOther(a) - isOther(b));
}

export function ownTablesOf<J extends AnyJob>(
  { name, job }: Dataset<J>,
  datasets: readonly Dataset<J>[],
): readonly (readonly [name: string, table: Table])[] {
  return Object.entries(job.tables).filter(([table]) => ownersOf(table, datasets)[0]?.name === name);
}
