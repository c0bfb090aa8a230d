import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Range } from '../../range.ts';
import type { Database, Session } from '../connection/database.ts';
import { identifiers } from '../connection/sql.ts';
import { factsOf } from '../schema/describe.ts';
import { keyHash } from '../write/receipts.ts';
import { targetOf } from '../write/rows/target.ts';
import { describeTable } from './table-description.ts';

/** Rows of a table: those of a range of block time, or all that a table without partitions has. */
export interface TableRows {
  /** The Drizzle table. */
  readonly table: object;
  readonly span: Range | undefined;
}

/** What tells whether rows have changed since they were read: rows that come, change or go change one of them. */
export interface RowsState {
  readonly rows: number;
  /** The sum of the hashes of their keys, as receipts have it; null for a table that has none. */
  readonly keys: string | null;
  /** The newest `loaded_at`, as Postgres prints it in UTC; null where there are no rows. */
  readonly changedAt: string | null;
  /** Unix seconds of the first and the last row; null where there are none, or no block time. */
  readonly first: number | null;
  readonly last: number | null;
}

const State = z.object({
  rows: z.coerce.number(),
  keys: z.string().nullable(),
  changedAt: z.string().nullable(),
  first: z.coerce.number().nullable(),
  last: z.coerce.number().nullable(),
});

/** Runs `work` so that all its statements see the rows, the coverage and the grades of one moment. */
export function atOneMoment<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  return database.transaction(work, { isSnapshot: true });
}

export async function stateOf(session: Session, rows: TableRows): Promise<RowsState> {
  const target = targetOf(rows.table);
  const ofStream = factsOf(rows.table).partitioned
    ? sql`coalesce(sum(${keyHash(target, sql`t`)}), 0)::text as keys,
        extract(epoch from min(utime))::int8 as first, extract(epoch from max(utime))::int8 as last`
    : sql`null as keys, null as first, null as last`;
  const [state] = await session.rows(
    sql`select count(*) as rows, (max(loaded_at) at time zone 'UTC')::text as "changedAt", ${ofStream} ${from(rows)}`,
    State,
  );
  return state ?? { rows: 0, keys: null, changedAt: null, first: null, last: null };
}

/**
 * Hands rows over as CSV (RFC 4180) in the order of the key: null as nothing, the empty string in quotes, times in UTC,
 * everything as Postgres prints it. Within a transaction.
 */
export async function copyRows(
  session: Session,
  rows: TableRows,
  { header, onData }: { readonly header: boolean; readonly onData: (data: Buffer) => void },
): Promise<void> {
  const { key, columns } = describeTable(rows.table);
  const names = identifiers(columns.map(({ name }) => name));
  await session.run(
    sql`select set_config('TimeZone', 'UTC', true), set_config('DateStyle', 'ISO', true), set_config('extra_float_digits', '1', true)`,
  );
  await session.copyOut(
    sql`copy (select ${names} ${from(rows)} order by ${identifiers(key)}) to stdout (format csv, header ${sql.raw(String(header))})`,
    onData,
  );
}

function from({ table, span }: TableRows) {
  const { into } = targetOf(table);
  if (span === undefined) return sql`from ${into} t`;
  // COPY takes no parameters.
  const [first, end] = [sql.raw(String(span.from)), sql.raw(String(span.to))];
  return sql`from ${into} t where t.utime >= to_timestamp(${first}) and t.utime < to_timestamp(${end})`;
}
