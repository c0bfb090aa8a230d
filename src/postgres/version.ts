import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { pages } from '../tables/etl/pages.ts';
import type { Session } from './database.ts';

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
