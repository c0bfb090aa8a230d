import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { bare, excluded, insertInto, setExcluded } from '../postgres/sql.ts';
import { wanted } from '../tables/etl/coverage.ts';

const Row = z.object({ dataset: z.string(), since: z.coerce.number() });

/** The time from which each dataset is kept complete, in unix seconds. */
export async function readWanted(session: Session): Promise<Map<string, number>> {
  const rows = await session.rows(sql`select ${wanted.dataset}, ${wanted.since} from ${wanted}`, Row);
  return new Map(rows.map(({ dataset, since }) => [dataset, since]));
}

/**
 * Keeps the decision of an earlier start, unless the text of the setting has changed since: `-7d` means seven days
 * before the start that first had it. A default changes nothing, so a restored database keeps its own decision.
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
