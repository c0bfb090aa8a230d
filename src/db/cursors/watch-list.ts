import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Session } from '../connection/database.ts';

const Watched = z.object({ address: z.string(), note: z.string(), addedAt: z.coerce.number() });

/** A watched account; `addedAt` in unix seconds. */
export type Watched = z.infer<typeof Watched>;

/** Puts an account (raw form) on the watch list; one that is there gets the new note. */
export async function addWatch(session: Session, address: string, note: string): Promise<void> {
  await session.run(sql`
    insert into etl.watch (address, note) values (${address}, ${note})
    on conflict (address) do update set note = excluded.note`);
}

/** Takes an account off the list; false where it was not on it. What was read for it stays. */
export async function removeWatch(session: Session, address: string): Promise<boolean> {
  return (await session.run(sql`delete from etl.watch where address = ${address}`)) > 0;
}

export async function readWatched(session: Session): Promise<Watched[]> {
  return session.rows(
    sql`select address, note, extract(epoch from added_at)::int8 as "addedAt" from etl.watch order by added_at, address`,
    Watched,
  );
}
