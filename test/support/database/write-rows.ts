import type { OpenTransaction } from '../../../src/db/connection/database.ts';
import { insertStaged, stageRows } from '../../../src/db/write/rows/insert.ts';
import type { Lines } from '../../../src/db/write/rows/line-bytes.ts';

/** Writes rows as commits do. Returns the number of those that were new or changed. */
export async function writeRows(session: OpenTransaction, byTable: readonly Lines[]): Promise<number> {
  return insertStaged(session, await stageRows(session, byTable));
}
