import { getTableColumns, getTableName, sql } from 'drizzle-orm';
import {
  getTableConfig,
  type PgTable,
  bigint,
  customType,
  jsonb,
  numeric,
  text,
  timestamp,
  pgSchema,
} from 'drizzle-orm/pg-core';
import type { Table } from '../dataset/declaration/record.ts';
import type { AnyJob, Dataset } from '../dataset/dataset.ts';

/** The data that analysts query. */
export const ton = pgSchema('ton');

/** The program's own tables: coverage, leases, refusals, quarantine, logs. */
export const etl = pgSchema('etl');

/** A logical time or a count of gas: 64 bits. It is a string in JavaScript, because a number would lose digits. */
export const int8 = customType<{ data: string; driverData: string }>({ dataType: () => 'bigint' });

/** Unix seconds, or another count that fits into a JavaScript number. */
export const count8 = () => bigint({ mode: 'number' });

/** Nanotons, jetton units and other integers of at most 38 digits, which every reader supports. The chain's have 37. */
export const amount = customType<{ data: string; driverData: string }>({ dataType: () => 'numeric(38,0)' });

/** A whole number of up to 256 bits, such as an item's index. */
export const wide = () => numeric();

/** A moment of time, written as ISO 8601 text. */
export const moment = () => timestamp({ withTimezone: true, mode: 'string' });

/** Block time: stream tables are partitioned by this column, which has the same name in each of them. */
export const utime = () => moment().notNull();

/** A 256-bit hash in base64 (44 characters), as the API prints it. */
export const hash = () => text();

/** A raw account address, `workchain:HEX` in upper case, as the API prints it. */
export const address = () => text();

/** The row's last change: the only column that differs between two runs. */
export const loadedAt = () => moment().notNull().defaultNow();

/** The last columns of a row that is read: members without a column of their own, and when it was written. */
export const restColumns = () => ({ extra: jsonb(), loaded_at: loadedAt() });

/** Ranges of unix seconds, as Postgres' text. */
export const int8range = customType<{ data: string; driverData: string }>({ dataType: () => 'int8range' });
export const int8multirange = customType<{ data: string; driverData: string }>({
  dataType: () => 'int8multirange',
});

/**
 * The text comment in a body that the server has decoded. Postgres derives it whenever it writes the row, so no writer
 * can forget it or make it differ from the body.
 */
export const commentIn = (decoded: string) =>
  text().generatedAlwaysAs(
    sql.raw(`case when jsonb_typeof(${decoded} -> 'comment') = 'string' then ${decoded} ->> 'comment' end`),
  );

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

type ColumnsOf<T extends PgTable> = keyof T['$inferSelect'] & string;

interface Facts<Column extends string> {
  /** What one row is. */
  readonly comment: string;
  /**
   * Meaning, unit, source member, and why it may be null. At least 20 characters; all are different. With `from`, a text
   * that names no source gets the column's own member. If the column may be null and the text does not say when, it is
   * null only if its member is not sent.
   */
  readonly columns: Readonly<
    Record<Exclude<Column, 'loaded_at' | 'extra'>, string> & Partial<Record<Column, string>>
  >;
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

/** Pages fill only tables of the schema `ton`: no other table has a rule. */
type ConflictOf<T extends PgTable> = T['_']['schema'] extends 'etl'
  ? { readonly conflict?: never }
  : { readonly conflict: Conflict<ColumnsOf<T>> };

type GivenFacts = Facts<string> & { readonly conflict?: Conflict<string> };

export interface TableFacts extends Omit<Facts<string>, 'partitioned' | 'columns' | 'from'> {
  /** The comment of each column. */
  readonly columns: Readonly<Record<string, string>>;
  /** Columns of the primary key, in its order. */
  readonly key: readonly string[];
  readonly conflict: Conflict<string>;
  readonly partitioned: boolean;
}

const described = new WeakMap<object, () => TableFacts>();

/** Declares what the table itself does not: comments, conflict rule, partitioning. It belongs next to the table. */
export function describe<T extends PgTable>(table: T, facts: Facts<ColumnsOf<T>> & ConflictOf<T>): void {
  let made: TableFacts | undefined;
  described.set(table, () => (made ??= tableFacts(table, facts)));
}

function tableFacts(table: PgTable, given: GivenFacts): TableFacts {
  const { conflict = { kind: 'keep' }, partitioned = false } = given;
  let columns: Readonly<Record<string, string>> | undefined;
  return {
    ...given,
    get columns() {
      return (columns ??= columnComments(table, given));
    },
    conflict,
    partitioned,
    key: keyOf(table),
  };
}

/** Texts that say themselves where a value comes from. */
const NAMES_SOURCE =
  /\b(?:From|The (?:hash|index|length|request|seqno) (?:of|in)) |by the program|^Members of/;

function columnComments(table: PgTable, { columns, from }: GivenFacts): Record<string, string> {
  const paths = Object.entries(typeof from === 'string' ? { '': from } : (from ?? {}));
  const said: Partial<Record<string, string>> = {
    extra: `Members of ${paths[0]?.[1].replace('.*', '')} that this version of the program has no column for, by dotted path; null if there are none.`,
    loaded_at: `When this row of ${getTableName(table)} was last written by the program, wall time, UTC.`,
    ...columns,
  };
  const comments = Object.values(getTableColumns(table)).map(({ name, notNull }): [string, string] => {
    const meaning = said[name];
    if (meaning === undefined)
      throw new TypeError(
        `${getTableName(table)} has a column ${name} without a comment: add it to describe()`,
      );
    const [prefix, path] = paths.findLast(([start]) => name.startsWith(start)) ?? [];
    if (prefix === undefined || path === undefined || NAMES_SOURCE.test(meaning)) return [name, meaning];
    const isExplained = notNull || /\bnull\b/i.test(meaning);
    const source = path.replaceAll('*', name.slice(prefix.length));
    return [name, `${meaning} From ${source}${isExplained ? '' : '; null only if not sent'}.`];
  });
  return Object.fromEntries(comments);
}

function keyOf(table: PgTable): string[] {
  const { columns, primaryKeys } = getTableConfig(table);
  const key = primaryKeys[0]?.columns ?? columns.filter((column) => column.primary);
  return key.map(({ name }) => name);
}

/** Throws if a table was not described, which is a mistake in its file. */
export function factsOf(table: object): TableFacts {
  const facts = described.get(table)?.();
  if (facts === undefined) throw new TypeError('a table without describe(): add it next to the table');
  return facts;
}

export function commentsOf(table: PgTable): string[] {
  const { schema, name } = getTableConfig(table);
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

/** Datasets that fill a table, the owner first. If there are several, `owner` in the table's `describe` names it. */
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
