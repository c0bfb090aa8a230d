import { closeSync, openSync, writeSync } from 'node:fs';
import type { Session } from '../db/connection/database.ts';
import { copyRows, type TableRows } from '../db/read/table-rows.ts';

/** Bytes that are written at once: the server sends row by row. */
const PIECE = 2 ** 20;

/**
 * Writes rows to a CSV file. Written without waiting: the server sends no faster than the file is written, and nothing
 * gathers in memory.
 */
export async function writeCsvRows(
  session: Session,
  rows: TableRows,
  { path, header }: { readonly path: string; readonly header: boolean },
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
    await copyRows(session, rows, { header, onData });
    writeSync(file, piece, 0, used);
  } finally {
    closeSync(file);
  }
}
