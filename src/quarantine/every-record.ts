import type { Database } from '../postgres/database.ts';
import { readQuarantined, type Chosen, type Quarantined } from '../read/quarantined.ts';

/** Records that are read from the database at once. */
const PAGE = 200;

/** Yields the chosen records in quarantine, with a few hundred in memory at a time. */
export async function* everyRecord(database: Database, chosen: Chosen): AsyncGenerator<Quarantined> {
  for (let after = 0; ;) {
    const page = await readQuarantined(database, chosen, { after, limit: PAGE });
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    after = last.id;
  }
}
