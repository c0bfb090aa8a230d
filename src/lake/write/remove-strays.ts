import { HOUR } from '../../range.ts';
import type { TableLog } from '../delta/table-log.ts';
import type { Lake } from '../lake.ts';

/** Longer than any run takes from a file to the commit that names it. */
const STRAY_SECONDS = HOUR;

/** Removes what runs that were killed left of a day: files that no commit names. `now` is unix seconds. */
export async function removeStrays({ store }: Lake, log: TableLog, day: string, now: number): Promise<void> {
  const known = new Set(log.parts.map(({ path }) => `${log.table}/${path}`));
  for (const { name, changedAt } of await store.list(`${log.table}/day=${day}/`))
    if (!known.has(name) && changedAt < now - STRAY_SECONDS) await store.remove(name);
}
