import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { bare, excluded, insertInto, setExcluded } from '../postgres/sql.ts';
import { wanted } from '../tables/etl/coverage.ts';

const Row = z.object({ dataset: z.string(), since: z.coerce.number() });

/** From when on each dataset is kept complete, in unix seconds. */
export async function readWanted(session: Session): Promise<Map<string, number>> {
  const rows = await session.rows(sql`select ${wanted.dataset}, ${wanted.since} from ${wanted}`, Row);
  return new Map(rows.map(({ dataset, since }) => [dataset, since]));
}

/**
 * Keeps what an earlier start decided, unless the setting's words have changed since: `-7d` means seven days before
 * the start at which it was first said. A default changes nothing: a restored database keeps what was wanted of it.
 */
export async function keepWanted(
  session: Session,
  dataset: string,
  {
    since,
    chosen,
    isDefault = false,
  }: { readonly since: number; readonly chosen: string; readonly isDefault?: boolean },
): Promise<void> {
  await session.run(sql`
    ${insertInto(wanted, { dataset, since, chosen })}
    on conflict (${bare(wanted.dataset)}) do update
      set ${setExcluded(wanted.since, wanted.chosen)}, ${bare(wanted.updated_at)} = default
    where not ${isDefault} and ${wanted.chosen} <> ${excluded(wanted.chosen)}`);
}
