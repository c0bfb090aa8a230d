import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../connection/database.ts';
import { pages } from '../schema/etl/pages.ts';

/** How many pages of a worker's that completed something the database has. */
export async function countPages(session: Session, worker: string): Promise<number> {
  const [row] = await session.rows(
    sql`select count(*) as pages from ${pages} where ${pages.worker} = ${worker} and ${pages.completed} is not null`,
    z.object({ pages: z.coerce.number() }),
  );
  return row?.pages ?? 0;
}
