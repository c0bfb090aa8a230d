import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import type { Stream } from './stored-coverage.ts';
import { spanOfSecond, type Range } from '../range.ts';
import { bare, multirangeParam } from '../postgres/sql.ts';
import { coverage } from '../tables/etl/coverage.ts';
import { writes } from '../tables/etl/verification.ts';
import { LONGEST_TRACE } from '../tables/ton/traces.ts';

/** Name of the check that compares stored rows with the source. */
export const DEEP = 'deep';

/** Name of the check that compares stored rows with those that were proved. */
export const SEAL = 'seal';

const COLUMNS = ': ';

/** What is wrong with a row, and in which columns, as `differs` stores it; `columnsIn` parses it. */
export function differsText(kind: string, columns: readonly string[]): string {
  return columns.length === 0 ? kind : `${kind}${COLUMNS}${columns.join(', ')}`;
}

export function columnsIn(differs: string): string[] {
  return differs.split(COLUMNS)[1]?.split(', ') ?? [];
}

/** A row that is wrong, missing or surplus. */
export interface WrongRow {
  readonly table: string;
  /** The key of the row; empty if too many rows are missing to name each. */
  readonly key: string;
  /** Seconds of the checked dataset that hold the row. */
  readonly span: Range;
  /** Seconds in which the row itself lies, if these are others: a transaction within its trace. */
  readonly own?: Range;
  /** What is wrong with it. */
  readonly differs: string;
  /** Every dataset that holds the row, including the checked one. */
  readonly datasets: readonly string[];
}

const Held = z.object({ table: z.string(), key: z.string(), second: z.coerce.number() });

/** The dataset whose rows contain rows of others. Only this file knows how, in SQL. */
const TRACES = 'traces';

/** True of a stream whose rows traces contain. */
export function isHeldByTraces({ dataset }: Pick<Stream, 'dataset'>): boolean {
  return dataset === 'transactions';
}

/**
 * The rows as parts of traces, in the seconds in which the traces end. A transaction is found by its node in the tree.
 * A message is found by its sender, or by its receiver if it has no sender. The trees are read once, however many rows
 * there are.
 */
export async function heldByTraces<Row extends WrongRow>(
  session: Session,
  rows: readonly Row[],
): Promise<(Row & { readonly dataset: string })[]> {
  const within = rows.filter(({ key, datasets }) => key !== '' && datasets.includes(TRACES));
  if (within.length === 0) return [];
  const [transactions, messages] = [given(within, 'transactions'), given(within, 'messages')];
  const from = within.reduce((least, { own, span }) => Math.min(least, (own ?? span).from), Infinity);
  const to = within.reduce((most, { own, span }) => Math.max(most, (own ?? span).to), -Infinity);
  // Each node lies at the end of its trace. Its time is compared only with constants, so that Postgres uses a hash
  // join.
  const held = await session.rows(
    sql`
      with sought as (
        select 'transactions' as "table", g.key, t.hash as tx_hash from ${transactions} join ton.transactions t
          on t.utime >= to_timestamp(g."from") and t.utime < to_timestamp(g."to")
            and g.key in (t.hash, concat_ws(' ', t.lt, t.account))
        union
        select 'messages', g.key, m.out_msg_tx_hash from ${messages} join ton.messages m
          on m.utime >= to_timestamp(g."from") and m.utime < to_timestamp(g."to") and m.hash = g.key),
      nodes as (
        select tx_hash, in_msg_hash, extract(epoch from utime)::int8 as second from ton.trace_nodes
        where utime >= to_timestamp(${from}::float8)
          and utime < to_timestamp(${to}::float8) + ${LONGEST_TRACE}::interval)
      select "table", key, second from sought join nodes using (tx_hash)
      union
      select 'messages', g.key, second from ${messages} join nodes e on e.in_msg_hash = g.key`,
    Held,
  );
  const rowsByName = new Map<string, Row[]>();
  for (const row of within) {
    const name = `${row.table} ${row.key}`;
    rowsByName.set(name, [...(rowsByName.get(name) ?? []), row]);
  }
  return held.flatMap(({ table, key, second }) =>
    (rowsByName.get(`${table} ${key}`) ?? []).map((row) => ({
      ...row,
      span: spanOfSecond(second),
      dataset: TRACES,
    })),
  );
}

/**
 * Withdraws the certificates of the seconds in which traces with transactions of these seconds end, because rereading
 * may change these traces. Traces are looked up by their ids. If the source gives a transaction no id, all trees are
 * read.
 */
export async function withdrawTraces(session: Session, seconds: readonly Range[]): Promise<void> {
  const t = sql`ton.transactions t join unnest(${multirangeParam(seconds)}) h
    on t.utime >= to_timestamp(lower(h)::float8) and t.utime < to_timestamp(upper(h)::float8)`;
  const isLater = sql`e.utime >= t.utime and e.utime < t.utime + ${LONGEST_TRACE}::interval`;
  await withdraw(
    session,
    sql`${t} join ton.traces e on e.trace_id = t.trace_id and ${isLater} where t.trace_id is not null`,
  );
  const nameless = await session.run(sql`select 1 from ${t} where t.trace_id is null limit 1`);
  if (nameless > 0)
    await withdraw(
      session,
      sql`${t} join ton.trace_nodes e on e.tx_hash = t.hash and ${isLater} where t.trace_id is null`,
    );
}

/** `found` follows `from` in the statement, with ends of traces as `e`. The row in `writes` tells running checks. */
async function withdraw(session: Session, found: SQL): Promise<void> {
  const { dataset, pass, verified, updated_at } = coverage;
  await session.run(sql`
    with ends as materialized (select distinct extract(epoch from e.utime)::int8 as second from ${found}),
    spans as materialized (
      select range_agg(int8range(second, second + 1)) as spans from ends having count(*) > 0),
    noted as (
      insert into ${writes} (${bare(writes.table_name, writes.seconds)}) select ${TRACES}, spans from spans)
    update ${coverage} set ${bare(verified)} = ${verified} - n.spans, ${bare(updated_at)} = default
    from spans n
    where ${dataset} = ${TRACES} and ${pass} = 0 and ${verified} && n.spans`);
}

/** The rows of a table as a list within a statement: their keys, and the seconds in which they lie. */
function given(rows: readonly WrongRow[], name: string): SQL {
  const listed = rows
    .filter(({ table }) => table === name)
    .map(({ key, span, own = span }) => ({ key, from: own.from, to: own.to }));
  return sql`jsonb_to_recordset(${JSON.stringify(listed)}::jsonb) as g (key text, "from" float8, "to" float8)`;
}
