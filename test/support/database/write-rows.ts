import type { OpenTransaction } from '../../../src/postgres/database.ts';
import { insertStaged, loadRows } from '../../../src/write/insert.ts';
import type { Lines } from '../../../src/write/lines.ts';

/** Writes rows as commits do. Returns the number of those that were new or changed. */
export async function writeRows(session: OpenTransaction, byTable: readonly Lines[]): Promise<number> {
  return insertStaged(session, await loadRows(session, byTable));
}
