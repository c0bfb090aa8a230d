import { closeSync, openSync, writeSync } from 'node:fs';
import type { Session } from '../db/connection/database.ts';
import { copyRows, type CopyFormat, type TableRows } from '../db/read/table-rows.ts';

/** Bytes that are written at once: the server sends row by row. */
const PIECE = 2 ** 20;

/** Begins a file in the text format: what reads files drops a mark of byte order at their beginning, and it may be a row's. */
const FIRST_LINE = '\n';

/**
 * Writes rows to a file. Written without waiting: the server sends no faster than the file is written, and nothing
 * gathers in memory.
 */
export async function writeRows(
  session: Session,
  rows: TableRows,
  { path, format }: { readonly path: string; readonly format: CopyFormat },
): Promise<void> {
  const file = openSync(path, 'w');
  const piece = Buffer.allocUnsafe(PIECE);
  let used = 0;
  const onData = (data: Buffer) => {
    if (used + data.length > PIECE) {
      writeSync(file, piece, 0, used);
      used = 0;
    }
    if (data.length > PIECE) writeSync(file, data);
    else used += data.copy(piece, used);
  };
  try {
    if (format === 'text') writeSync(file, FIRST_LINE);
    await copyRows(session, rows, { format, onData });
    writeSync(file, piece, 0, used);
  } finally {
    closeSync(file);
  }
}
