import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from '../../db/connection/database.ts';
import { receipts } from '../../db/schema/etl/verification.ts';
import { isWithin, wholeMinutes } from '../../db/write/receipt-ledger.ts';
import { RECEIPT_SECONDS } from '../../db/write/receipts.ts';
import { targetOf } from '../../db/write/rows/target.ts';
import type { Range } from '../../range.ts';

/** Rows of one side that a join by hash keeps in memory with the settings of `atSpeed`. */
const MOST_ROWS = 250_000;

const Minute = z.object({ minute: z.coerce.number(), rows: z.coerce.number() });

/**
 * Cuts a stretch at whole minutes into pieces of at most so many rows of a table, as its receipts count them, or of one
 * minute. A join of more rows than memory holds goes over the disk, and takes twice as long.
 */
export async function piecesOf(
  session: Session,
  table: object,
  stretch: Range,
  mostRows = MOST_ROWS,
): Promise<Range[]> {
  const minutes = await session.rows(
    sql`select ${receipts.minute} as minute, sum(${receipts.rows}) as rows from ${receipts}
        where ${isWithin(targetOf(table).name, wholeMinutes(stretch))} group by 1 order by 1`,
    Minute,
  );
  const pieces: Range[] = [];
  let from = stretch.from;
  let inPiece = 0;
  for (const { minute, rows } of minutes) {
    const start = minute * RECEIPT_SECONDS;
    if (inPiece + rows > mostRows && start > from) {
      pieces.push({ from, to: start });
      from = start;
      inPiece = 0;
    }
    inPiece += rows;
  }
  return [...pieces, { from, to: stretch.to }];
}
