import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { oneRow, type Session, oneValue } from './database.ts';
import { pages } from '../tables/etl/pages.ts';

/** The database's clock, unix seconds with a fraction. */
export async function readClock(session: Session): Promise<number> {
  return oneValue(session, sql`select extract(epoch from clock_timestamp())::float8`, z.number());
}

/** The database's clock to the microsecond, as text for comparisons in statements. */
export async function databaseTime(session: Session): Promise<string> {
  return oneValue(session, sql`select clock_timestamp()::text`, z.string());
}

/** True if the server is a standby, or if the role or the database makes the session read-only. */
export async function readsOnly(session: Pick<Session, 'rows'>): Promise<boolean> {
  return oneValue(session, sql`select current_setting('transaction_read_only') = 'on'`, z.boolean());
}

const Facts = z.object({ postgres: z.string(), apiVersion: z.string().nullable() });

/**
 * The server's version, and the build of the API that sent the newest page. The build is null if no page was read or
 * if the API did not send it.
 */
export async function readVersions(session: Session): Promise<z.infer<typeof Facts>> {
  const isThere = await oneValue(session, sql`select to_regclass('etl.pages') is not null`, z.boolean());
  const newest = isThere
    ? sql`(select ${pages.api_version} from ${pages} where ${pages.api_version} is not null
          order by ${pages.id} desc limit 1)`
    : sql`null::text`;
  return oneRow(
    session,
    sql`select current_setting('server_version') as postgres, ${newest} as "apiVersion"`,
    Facts,
  );
}
