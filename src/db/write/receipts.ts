import { sql, type SQL } from 'drizzle-orm';
import type { Strings } from '../../dataset/strings.ts';
import { bare } from '../connection/sql.ts';
import { receipts } from '../schema/etl/verification.ts';
import { HashSum } from './hash-text.ts';
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

/** The same hashes, of keys of one second as the lines of a page have them: its time, `|`, and the rest. */
export class KeySum {
  private readonly second: string;
  private readonly hashes = new HashSum();

  constructor(time: string) {
    this.second = String(Date.parse(time) / 1000);
  }

  add(key: string, strings: Strings): void {
    this.hashes.add(this.second + key.slice(key.indexOf('|')), strings);
  }

  take(): bigint {
    return this.hashes.take();
  }
}

/** How many rows lie in a second, and the sum of the hashes of their keys. */
export interface SecondSum {
  readonly second: number;
  readonly rows: number;
  readonly keys: bigint;
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

/** The columns of a receipt that whoever leaves it fills. */
export const RECEIPT_COLUMNS = bare(receipts.table_name, receipts.minute, receipts.rows, receipts.keys);

/** A text whose hash tells whether this server hashes as `HashSum` does: long enough for all that it does. */
const PROBE = 'toncenter-etl|1700000000|0123456789';

const probeHash = (() => {
  const sum = new HashSum();
  sum.add(PROBE, 'bytes');
  return sum.take();
})();

/**
 * A statement that leaves the receipts of rows that were all added, table by table; none where this server hashes otherwise.
 */
export function leaveSums(sums: readonly (readonly [table: string, sums: readonly SecondSum[]])[]): SQL {
  const left = sums.flatMap(([table, seconds]) =>
    byMinute(seconds).map(({ minute, rows, keys }) => ({ table, minute, rows, keys: String(keys) })),
  );
  return sql`
    insert into ${receipts} (${RECEIPT_COLUMNS})
    select r."table", r.minute, r.rows, r.keys
    from json_to_recordset(${JSON.stringify(left)}::json) as r ("table" text, minute int8, rows int4, keys numeric)
    where hashtextextended(${PROBE}, 0) = ${String(probeHash)}::int8`;
}

function byMinute(sums: readonly SecondSum[]) {
  const minutes = new Map<number, { minute: number; rows: number; keys: bigint }>();
  for (const { second, rows, keys } of sums) {
    const minute = Math.floor(second / RECEIPT_SECONDS);
    const before = minutes.get(minute);
    minutes.set(minute, { minute, rows: rows + (before?.rows ?? 0), keys: keys + (before?.keys ?? 0n) });
  }
  return [...minutes.values()];
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
    insert into ${receipts} (${RECEIPT_COLUMNS})
    select ${target.name}, ${minuteOf(row)}, ${sign}count(*)${counted}, ${sign}coalesce(sum(${keyHash(target, row)})${counted}, 0)`;
}
