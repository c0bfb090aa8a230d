import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { oneRow, type Session } from './database.ts';

/** The database's clock, unix seconds with a fraction. */
export async function readClock(session: Session): Promise<number> {
  const time = sql`extract(epoch from clock_timestamp())::float8`;
  const row = await oneRow(session, sql`select ${time} as time`, z.object({ time: z.number() }));
  return row.time;
}

/** The database's clock to the microsecond, as text for comparisons in statements. */
export async function databaseTime(session: Session): Promise<string> {
  const time = sql`clock_timestamp()::text`;
  const row = await oneRow(session, sql`select ${time} as time`, z.object({ time: z.string() }));
  return row.time;
}
