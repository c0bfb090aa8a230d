import { getTableColumns } from 'drizzle-orm';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { literal } from './literal.ts';

/** What happens when a row with the same key is there already. */
type Conflict<Column extends string> =
  /** The row cannot change: the first one stays. */
  | { readonly kind: 'keep' }
  /** The row cannot change, but these members may arrive later than the rest: they are filled where they are null. */
  | { readonly kind: 'fill'; readonly columns: readonly Column[] }
  /** The row changes: it is replaced where `by` is not older and something differs. */
  | { readonly kind: 'newer'; readonly by: Column }
  /** The row changes, and nothing in it tells which is newer: the one that was read last counts, where it differs. */
  | { readonly kind: 'replace' };

/**
 * A new row replaces older ones of the same thing though their keys differ, for block time is part of the key: a trace
 * that ended anew, later.
 */
interface Supersedes<Column extends string> {
  /** What names the thing. */
  readonly columns: readonly Column[];
  /** The table in which older copies are looked for: this one, or the one whose rows this one's are parts of. */
  readonly of: string;
}

type ColumnsOf<T extends PgTable> = keyof T['$inferSelect'] & string;

interface Facts<Column extends string> {
  /** What one row is. */
  readonly comment: string;
  /** Meaning, unit, source member, and why it may be null: at least 20 characters, no two alike. */
  readonly columns: Readonly<Record<Column, string>>;
  /** Columns of the primary key, in its order. */
  readonly key: readonly Column[];
  /** The dataset for which the table is; left out if only one fills it. */
  readonly owner?: string;
  readonly conflict: Conflict<Column>;
  /** Other columns that some copies of a row lack, because servers fill them later: a null there contradicts no value. */
  readonly lacking?: readonly Column[];
  readonly supersedes?: Supersedes<Column>;
  /** Set where several records bring the same row, also those of neighbouring pages: one for each of these that is not null. */
  readonly shared?: { readonly ends: readonly Column[] };
  /** True where the table is range-partitioned by `utime`. */
  readonly partitioned: boolean;
}

export type TableFacts = Facts<string>;

const described = new WeakMap<object, TableFacts>();

/** Says of a table what SQL cannot: comments, key, how rows meet, whether it is partitioned. Stands beside the table. */
export function describe<T extends PgTable>(table: T, facts: Facts<ColumnsOf<T>>): void {
  described.set(table, facts);
}

/** Throws where a table was not described: that is a mistake in its file. */
export function factsOf(table: object): TableFacts {
  const facts = described.get(table);
  if (facts === undefined) throw new TypeError('a table without describe(): add it beside the table');
  return facts;
}

/** Statements that put a table's comments into the database. */
export function commentsOf(table: PgTable): string[] {
  const { schema, name } = getTableConfig(table);
  const { comment, columns } = factsOf(table);
  const title = `"${schema ?? 'public'}"."${name}"`;
  const columnComments = Object.values(getTableColumns(table)).map(
    (column) => `comment on column ${title}."${column.name}" is ${literal(columns[column.name] ?? '')};`,
  );
  return [`comment on table ${title} is ${literal(comment)};`, ...columnComments];
}
