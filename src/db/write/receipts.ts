import { sql, type SQL } from 'drizzle-orm';
import { bare } from '../connection/sql.ts';
import { receipts } from '../schema/etl/verification.ts';
import type { Target } from './rows/target.ts';

/** Seconds of chain time that one receipt sums up: few receipts a page, and few seconds to read again for a lost row. */
export const RECEIPT_SECONDS = 60;

type ReceiptTable = Pick<Target, 'name' | 'facts'>;

/** Unix seconds of a row; `extract` would give a numeric, at several times the cost. */
export const secondOfRow = (row: SQL): SQL => sql`date_part('epoch', ${row}.utime)::int8`;

/** The receipt's stretch of time in which a row lies. */
export const minuteOf = (row: SQL): SQL => sql`(${secondOfRow(row)} / ${sql.raw(String(RECEIPT_SECONDS))})`;

/** The hash of a row's key: equal keys have equal hashes, whatever the session's time zone is. */
export function keyHash({ facts }: ReceiptTable, row: SQL): SQL {
  const rest = facts.key
    .filter((name) => name !== 'utime')
    .map((name) => sql`${row}.${sql.identifier(name)}`);
  return sql`hashtextextended(concat_ws('|', ${secondOfRow(row)}, ${sql.join(rest, sql`, `)}), 0)`;
}

/** The columns that a receipt needs to know of a row: for `returning`. */
export function receiptColumns({ facts }: ReceiptTable, row: SQL): SQL {
  const names = ['utime', ...facts.key.filter((name) => name !== 'utime')];
  return sql.join(
    names.map((name) => sql`${row}.${sql.identifier(name)}`),
    sql`, `,
  );
}

/**
 * A statement that leaves the receipt of `rows` (the name of a query with the columns above) that were written or removed;
 * of those written, `is_new` tells which were added. That others were changed is all that their receipt says.
 * A table's receipts are a ledger: each row is counted once when it is inserted, however often it is read again and
 * whichever dataset brings it, and taken off once when the program removes it. So their sum is what must be there.
 */
export function leaveReceipt(target: ReceiptTable, rows: SQL, change: 'written' | 'removed'): SQL {
  const counted = change === 'written' ? sql` filter (where r.is_new)` : sql``;
  return sql`${insertReceipts(target, sql`r`, { sign: change === 'removed' ? sql`-` : sql``, counted })} from ${rows} r group by 2`;
}

/** The same of rows that were all added: of what stands behind `from`, where they are called `t`. Its rows are returned. */
export function leaveReceiptOfNew(target: ReceiptTable, from: SQL): SQL {
  return sql`${insertReceipts(target, sql`t`, { sign: sql``, counted: sql`` })} ${from} group by 2 returning ${bare(receipts.rows)}`;
}

function insertReceipts(
  target: ReceiptTable,
  row: SQL,
  { sign, counted }: { readonly sign: SQL; readonly counted: SQL },
): SQL {
  return sql`
    insert into ${receipts} (${bare(receipts.table_name, receipts.minute, receipts.rows, receipts.keys)})
    select ${target.name}, ${minuteOf(row)}, ${sign}count(*)${counted}, ${sign}coalesce(sum(${keyHash(target, row)})${counted}, 0)`;
}
