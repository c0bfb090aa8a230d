import { common, partsOf, type Range, type Stretch, stretchesOf } from '../../range.ts';
import type { Session } from '../../db/connection/database.ts';
import { owedRows, spanOfMinute } from '../../db/write/receipt-ledger.ts';

/** Rows of one side that a join by hash keeps in memory with the settings of `atSpeed`. */
const MOST_ROWS = 250_000;

/**
 * Cuts a stretch at whole minutes into pieces of at most so many rows of a table, as its receipts count them, or of one
 * minute. A join of more rows than memory holds goes over the disk, and takes twice as long.
 */
export async function piecesOf(
  session: Session,
  table: object,
  stretch: Stretch,
  mostRows = MOST_ROWS,
): Promise<Stretch[]> {
  const pieces: Range[] = [];
  let from = stretch.from;
  let inPiece = 0;
  for (const [minute, rows] of await owedRows(session, table, stretch)) {
    const start = spanOfMinute(minute).from;
    if (inPiece + rows > mostRows && start > from) {
      pieces.push({ from, to: start });
      from = start;
      inPiece = 0;
    }
    inPiece += rows;
  }
  return [...pieces, { from, to: stretch.to }].flatMap((piece) =>
    stretchesOf(common([piece], partsOf(stretch)), Infinity),
  );
}
