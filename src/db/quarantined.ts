import { sql } from 'drizzle-orm';
import { z } from 'zod';
import type { Range } from '../range.ts';
import type { Stream } from './coverage.ts';
import type { Session } from './database.ts';
import { multirangeParam } from './sql.ts';

const seconds = z.coerce.number();

const Quarantined = z.object({
  id: z.coerce.number(),
  dataset: z.string(),
  scope: z.string(),
  recordId: z.string(),
  utime: seconds,
  path: z.string(),
  reason: z.string(),
  raw: z.string(),
  request: z.string(),
  attempts: z.number(),
  firstAt: seconds,
  lastAt: seconds,
});

/** A record that did not fit, whole; times in unix seconds, `raw` the JSON text. */
export type Quarantined = z.infer<typeof Quarantined>;

/** Which records; members that are left out choose all. */
export interface Chosen {
  readonly ids?: readonly number[] | undefined;
  readonly datasets?: readonly string[] | undefined;
}

/** Records in quarantine from one number on, at most `limit`, by number: so that any number of them fits in memory. */
export function readQuarantined(
  session: Session,
  { ids, datasets }: Chosen,
  page: { readonly after: number; readonly limit: number },
): Promise<Quarantined[]> {
  const ofIds =
    ids === undefined
      ? sql`true`
      : sql`id in (select json_array_elements_text(${JSON.stringify(ids)}::json)::int8)`;
  const ofDatasets =
    datasets === undefined
      ? sql`true`
      : sql`dataset in (select json_array_elements_text(${JSON.stringify(datasets)}::json))`;
  return session.rows(
    sql`
      select id, dataset, scope, record_id as "recordId", extract(epoch from utime)::int8 as utime, path, reason, raw,
        request, attempts, extract(epoch from first_at)::int8 as "firstAt", extract(epoch from last_at)::int8 as "lastAt"
      from etl.quarantine where ${ofIds} and ${ofDatasets} and id > ${page.after} order by id limit ${page.limit}`,
    Quarantined,
  );
}

const Kind = z.object({
  dataset: z.string(),
  path: z.string(),
  reason: z.string(),
  records: seconds,
  from: seconds,
  to: seconds,
});

/** Records that do not fit for the same reason, and the seconds between which they lie. */
export type QuarantineKind = z.infer<typeof Kind>;

/** Why records lie in quarantine, the most frequent reason first. */
export function readQuarantineKinds(session: Session): Promise<QuarantineKind[]> {
  return session.rows(
    sql`
      select dataset, regexp_replace(path, '\\d+', '*', 'g') as path, reason, count(*) as records,
        extract(epoch from min(utime))::int8 as "from", extract(epoch from max(utime))::int8 + 1 as "to"
      from etl.quarantine group by 1, 2, 3 order by count(*) desc, 1, 2, 3`,
    Kind,
  );
}

/**
 * Forgets the records of these seconds that were not received since `began` (as Postgres prints it): the seconds were
 * read again, and the source has them no longer, or in a shape whose identity can be read.
 * @returns how many there were
 */
export function forgetUnseen(
  session: Session,
  { dataset, scope }: Pick<Stream, 'dataset' | 'scope'>,
  covered: readonly Range[],
  began: string,
): Promise<number> {
  return session.run(sql`
    delete from etl.quarantine
    where dataset = ${dataset} and scope = ${scope} and last_at < ${began}::timestamptz
      and ${multirangeParam(covered)} @> extract(epoch from utime)::int8`);
}

/** The database's clock, to the microsecond. */
export async function databaseTime(session: Session): Promise<string> {
  const [row] = await session.rows(
    sql`select clock_timestamp()::text as time`,
    z.object({ time: z.string() }),
  );
  return row?.time ?? '';
}
