import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { cursors } from '../tables/etl/cursors.ts';
import { isClaimed } from './stored-cursors.ts';

const Standing = z.object({
  dataset: z.string(),
  scope: z.string(),
  cursor: z.unknown(),
  owner: z.string().nullable(),
  updatedAt: z.coerce.number(),
});

/** Where one walk stands; `updatedAt` in unix seconds. */
export type CursorStanding = z.infer<typeof Standing>;

/** The cursor of every walk; of walks over single accounts only how many there are is the reader's business. */
export async function readStandings(session: Session): Promise<CursorStanding[]> {
  const { dataset, scope } = cursors;
  return session.rows(
    sql`
      select ${dataset}, ${scope}, ${cursors.cursor},
        case when ${isClaimed} then ${cursors.owner} end as owner,
        extract(epoch from ${cursors.updated_at})::int8 as "updatedAt"
      from ${cursors} where position(':' in ${scope}) = 0 order by ${dataset}, ${scope}`,
    Standing,
  );
}
