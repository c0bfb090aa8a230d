import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Session } from '../postgres/database.ts';
import { bare, insertInto, setExcluded } from '../postgres/sql.ts';
import { watch } from '../tables/etl/watch-list.ts';

const Watched = z.object({ address: z.string(), note: z.string(), addedAt: z.coerce.number() });

/** A watched account; `addedAt` in unix seconds. */
export type Watched = z.infer<typeof Watched>;

/** Puts an account (raw form) on the watch list; one that is there gets the new note. */
export async function addWatch(session: Session, address: string, note: string): Promise<void> {
  await session.run(sql`
    ${insertInto(watch, { address, note })}
    on conflict (${bare(watch.address)}) do update set ${setExcluded(watch.note)}`);
}

/** Takes an account off the list; false where it was not on it. What was read for it stays. */
export async function removeWatch(session: Session, address: string): Promise<boolean> {
  return (await session.run(sql`delete from ${watch} where ${watch.address} = ${address}`)) > 0;
}

export async function readWatched(session: Session): Promise<Watched[]> {
  return session.rows(
    sql`select ${watch.address}, ${watch.note}, extract(epoch from ${watch.added_at})::int8 as "addedAt" from ${watch}
        order by ${watch.added_at}, ${watch.address}`,
    Watched,
  );
}
