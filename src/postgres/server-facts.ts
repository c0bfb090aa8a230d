import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { oneRow, type Session } from './database.ts';
import { pages } from '../tables/etl/pages.ts';

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

/** True if the server is a standby, or if the role or the database makes the session read-only. */
export async function readsOnly(session: Pick<Session, 'rows'>): Promise<boolean> {
  const [row] = await session.rows(
    sql`select current_setting('transaction_read_only') = 'on' as reads`,
    z.object({ reads: z.boolean() }),
  );
  return row?.reads === true;
}

const Facts = z.object({ postgres: z.string(), apiVersion: z.string().nullable() });

/**
 * The server's version, and the build of the API that sent the newest page. The build is null if no page was read or
 * if the API did not send it.
 */
export async function readVersions(session: Session): Promise<z.infer<typeof Facts>> {
  const [there] = await session.rows(
    sql`select to_regclass('etl.pages') is not null as there`,
    z.object({ there: z.boolean() }),
  );
  const newest =
    there?.there === true
      ? sql`(select ${pages.api_version} from ${pages} where ${pages.api_version} is not null
          order by ${pages.id} desc limit 1)`
      : sql`null::text`;
  const [facts] = await session.rows(
    sql`select current_setting('server_version') as postgres, ${newest} as "apiVersion"`,
    Facts,
  );
  return facts ?? { postgres: '', apiVersion: null };
}
