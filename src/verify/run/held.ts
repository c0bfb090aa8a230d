import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../../db/connection/database.ts';
import { owedRows, spanOfMinute, wholeMinutes } from '../../db/write/receipt-ledger.ts';
import { minuteOf } from '../../db/write/receipts.ts';
import { targetOf } from '../../db/write/rows/target.ts';
import {
  common,
  formatTime,
  partsOf,
  type Range,
  type Stretch,
  stretchesOf,
  union,
  without,
} from '../../range.ts';
import { during } from '../../db/connection/seconds.ts';

/** How many rows of a table a check has held, by the minute in which they lie. */
export interface HeldRows {
  readonly table: object;
  readonly minutes: ReadonlyMap<number, number>;
}

const Minute = z.object({ minute: z.coerce.number(), rows: z.coerce.number() });

/** Counts the rows of a table that a check sees. */
export async function holdRows(session: Session, table: object, stretch: Stretch): Promise<HeldRows> {
  const counted = await session.rows(
    sql`select ${minuteOf(sql`t`)} as minute, count(*) as rows from ${targetOf(table).into} t
        where ${during('t', stretch)} group by 1`,
    Minute,
  );
  return { table, minutes: new Map(counted.map(({ minute, rows }) => [minute, rows])) };
}

export function rowsOf({ minutes }: HeldRows): number {
  return [...minutes.values()].reduce((sum, rows) => sum + rows, 0);
}

/** Seconds of which a check held other rows than there must be. */
export interface Unheld {
  readonly spans: readonly Range[];
  /** `held 5 of 7 rows of transactions, from 2026-11-01T00:00:00Z on` */
  readonly sentence: string;
}

/**
 * Holds what a check has held against the receipts, minute by minute: a check that saw nothing has proved nothing.
 * Only on the snapshot on which the check ran. Undefined where it held what there must be.
 */
export async function findUnheld(
  session: Session,
  held: HeldRows,
  stretch: Stretch,
): Promise<Unheld | undefined> {
  const { name } = targetOf(held.table);
  const parts = partsOf(stretch);
  const minutes = union(parts.map(wholeMinutes));
  const due = await owedRows(session, held.table, stretch);
  const counts = new Map(held.minutes);
  for (const edges of stretchesOf(without(minutes, parts), Infinity)) {
    const beside = await holdRows(session, held.table, edges);
    for (const [minute, rows] of beside.minutes) counts.set(minute, (counts.get(minute) ?? 0) + rows);
  }
  const wrong = [...new Set([...due.keys(), ...counts.keys()])]
    .filter((minute) => (due.get(minute) ?? 0) !== (counts.get(minute) ?? 0))
    .filter((minute) => common([spanOfMinute(minute)], minutes).length > 0)
    .sort((a, b) => a - b);
  const [first] = wrong;
  if (first === undefined) return undefined;
  const sum = (of: ReadonlyMap<number, number>) =>
    wrong.reduce((rows, minute) => rows + (of.get(minute) ?? 0), 0);
  return {
    spans: common(wrong.map(spanOfMinute), parts),
    sentence: `held ${sum(counts)} of ${sum(due)} rows of ${name}, from ${formatTime(spanOfMinute(first).from)} on`,
  };
}
