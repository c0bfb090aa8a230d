import { sql, type SQL } from 'drizzle-orm';
import type { Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { keyHash, minuteOf, RECEIPT_SECONDS } from './receipts.ts';
import { targetOf, type Target } from './target.ts';

/** A query: the rows that a table has in each minute, and the sum of their keys' hashes. */
export function heldRows(target: Target, { from, to }: Range): SQL {
  const t = sql`t`;
  return sql`select ${minuteOf(t)} as minute, count(*) as rows, sum(${keyHash(target, t)}) as keys
    from ${target.into} t where t.utime >= to_timestamp(${from}::float8) and t.utime < to_timestamp(${to}::float8) group by 1`;
}

/**
 * Takes what is stored now as what must be there: within the transaction that takes the minutes out of coverage, so
 * that the rows that come back are counted anew. One statement, so that no commit falls between the two halves.
 */
export async function resetReceipts(session: Session, table: object, stretch: Range): Promise<void> {
  const target = targetOf(table);
  const minutes = wholeMinutes(stretch);
  await session.run(sql`
    with gone as (
      delete from etl.receipts where table_name = ${target.name}
        and minute >= ${minutes.from / RECEIPT_SECONDS}::int8 and minute < ${minutes.to / RECEIPT_SECONDS}::int8)
    insert into etl.receipts (table_name, minute, rows, keys)
    select ${target.name}, minute, rows, keys from (${heldRows(target, minutes)}) h`);
}

/** Puts the receipts of a minute together into one. */
export async function foldReceipts(session: Session, table: object, stretch: Range): Promise<void> {
  const { name } = targetOf(table);
  const minutes = wholeMinutes(stretch);
  await session.run(sql`
    with many as (
      select minute from etl.receipts where table_name = ${name}
        and minute >= ${minutes.from / RECEIPT_SECONDS}::int8 and minute < ${minutes.to / RECEIPT_SECONDS}::int8
      group by 1 having count(*) > 1),
    gone as (
      delete from etl.receipts r using many m where r.table_name = ${name} and r.minute = m.minute
      returning r.minute, r.rows, r.keys)
    insert into etl.receipts (table_name, minute, rows, keys)
    select ${name}, minute, sum(rows), sum(keys) from gone group by minute`);
}

/** A range, widened to the minutes that receipts are kept for. */
export function wholeMinutes({ from, to }: Range): Range {
  const whole = (second: number) => second * RECEIPT_SECONDS;
  return { from: whole(Math.floor(from / RECEIPT_SECONDS)), to: whole(Math.ceil(to / RECEIPT_SECONDS)) };
}
