import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { partsOf, type Range, type Stretch } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { bare, multirangeParam } from '../connection/sql.ts';
import { receipts } from '../schema/etl/verification.ts';
import { keyHash, minuteOf, RECEIPT_COLUMNS, RECEIPT_SECONDS } from './receipts.ts';
import { targetOf, type Target } from './rows/target.ts';
import { during } from '../connection/seconds.ts';

/** A query: the rows that a table has in each minute, and the sum of their keys' hashes. */
export function heldRows(target: Target, range: Stretch): SQL {
  const t = sql`t`;
  return sql`select ${minuteOf(t)} as minute, count(*) as rows, sum(${keyHash(target, t)}) as keys
    from ${target.into} t where ${during('t', range)} group by 1`;
}

/**
 * Takes what is stored now as what must be there: within the transaction that takes the minutes out of coverage, so
 * that the rows that come back are counted anew. One statement, so that no commit falls between the two halves. Minutes
 * that are empty now leave a receipt too: it tells checks under way that they have seen something else.
 */
export async function resetReceipts(session: Session, table: object, stretch: Range): Promise<void> {
  const target = targetOf(table);
  const minutes = wholeMinutes(stretch);
  await session.run(sql`
    with gone as (delete from ${receipts} where ${isWithin(target.name, minutes)} returning ${receipts.minute})
    insert into ${receipts} (${RECEIPT_COLUMNS})
    select ${target.name}, minute, coalesce(h.rows, 0), coalesce(h.keys, 0)
    from (select distinct minute from gone) g full join (${heldRows(target, minutes)}) h using (minute)`);
}

/** Puts the receipts of a minute together into the last one: nothing was written anew. */
export async function foldReceipts(session: Session, table: object, stretch: Range): Promise<void> {
  const { name } = targetOf(table);
  const { table_name, minute, id, rows, keys } = receipts;
  const isTheirs = sql`${table_name} = ${name} and ${minute} = m.minute`;
  await session.run(sql`
    with many as (
      select ${minute}, max(${id}) as id, sum(${rows}) as rows, sum(${keys}) as keys
      from ${receipts} where ${isWithin(name, wholeMinutes(stretch))} group by 1 having count(*) > 1),
    gone as (delete from ${receipts} using many m where ${isTheirs} and ${id} < m.id)
    update ${receipts} set ${bare(rows)} = m.rows, ${bare(keys)} = m.keys from many m where ${isTheirs} and ${id} = m.id`);
}

/** A query: the minutes of a stretch of whole ones in which a table has other rows than its receipts say, with both numbers. */
export function otherThanReceipts(target: Target, stretch: Stretch): SQL {
  return sql`
    with owed as (
      select ${receipts.minute}, sum(${receipts.rows})::int8 as rows, sum(${receipts.keys}) as keys from ${receipts}
      where ${isWithin(target.name, stretch)} group by 1),
    held as (${heldRows(target, stretch)})
    select minute, coalesce(h.rows, 0) as held, coalesce(o.rows, 0) as owed from owed o full join held h using (minute)
    where coalesce(o.rows, 0) <> coalesce(h.rows, 0) or coalesce(o.keys, 0) <> coalesce(h.keys, 0)`;
}

/** True where a table holds the rows that its receipts say. */
export async function isAsReceipts(session: Session, table: object, stretch: Stretch): Promise<boolean> {
  return (await session.run(otherThanReceipts(targetOf(table), stretch))) === 0;
}

/** The minute of a receipt as a range of seconds. */
const spanOfReceipt = sql`int8range(${receipts.minute} * ${sql.raw(String(RECEIPT_SECONDS))},
  (${receipts.minute} + 1) * ${sql.raw(String(RECEIPT_SECONDS))})`;

/** True of the receipts of a table in a stretch of whole minutes. */
export function isWithin(table: string, stretch: Stretch): SQL {
  const within = sql`${receipts.table_name} = ${table} and ${receipts.minute} >= ${stretch.from / RECEIPT_SECONDS}::int8
    and ${receipts.minute} < ${stretch.to / RECEIPT_SECONDS}::int8`;
  const parts = partsOf(stretch);
  if (parts.length < 2) return within;
  return sql`${within} and ${multirangeParam(parts)} @> (${receipts.minute} * ${RECEIPT_SECONDS}::int8)`;
}

const Owed = z.object({ minute: z.coerce.number(), rows: z.coerce.number() });

/** The rows that a table must have in each minute of a range, by its receipts, in the order of the minutes. */
export async function owedRows(session: Session, table: object, range: Range): Promise<Map<number, number>> {
  const owed = await session.rows(
    sql`select ${receipts.minute} as minute, sum(${receipts.rows}) as rows from ${receipts}
        where ${isWithin(targetOf(table).name, wholeMinutes(range))} group by 1 order by 1`,
    Owed,
  );
  return new Map(owed.map(({ minute, rows }) => [minute, rows]));
}

/** The seconds of a receipt's minute. */
export function spanOfMinute(minute: number): Range {
  return { from: minute * RECEIPT_SECONDS, to: (minute + 1) * RECEIPT_SECONDS };
}

/** The minutes within some ranges in which rows of some tables were written or removed after a receipt, as a scalar. */
export function writtenSince(targets: readonly Target[], ranges: readonly Range[], lastReceipt: number): SQL {
  const all = wholeMinutes({ from: ranges[0]?.from ?? 0, to: ranges.at(-1)?.to ?? 0 });
  const written = targets.map(({ name }) => isWithin(name, all));
  return sql`(
    select coalesce(range_agg(${spanOfReceipt}), '{}') from ${receipts}
    where (${sql.join(written, sql` or `)}) and ${receipts.id} > ${lastReceipt})`;
}

/** A range, widened to the minutes that receipts are kept for. */
export function wholeMinutes({ from, to }: Range): Range {
  const whole = (second: number) => second * RECEIPT_SECONDS;
  return { from: whole(Math.floor(from / RECEIPT_SECONDS)), to: whole(Math.ceil(to / RECEIPT_SECONDS)) };
}
