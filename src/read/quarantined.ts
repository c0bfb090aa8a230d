import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { formatTime, type Range } from '../range.ts';
import type { AnyJob, Dataset } from '../dataset/dataset.ts';
import { type Session, oneValue } from '../postgres/database.ts';
import { multirangeParam, rangeParam, spanOfRow, texts } from '../postgres/sql.ts';
import { targetOf } from '../write/target.ts';
import { estimateRows } from './row-estimates.ts';
import { quarantine as q } from '../tables/etl/quarantine.ts';

const seconds = z.coerce.number();

const Quarantined = z.object({
  id: z.coerce.number(),
  dataset: z.string(),
  scope: z.string(),
  recordId: z.string(),
  utime: seconds,
  span: spanOfRow,
  path: z.string(),
  reason: z.string(),
  raw: z.string(),
  request: z.string(),
  attempts: z.number(),
  firstAt: seconds,
  lastAt: seconds,
});

/** A complete record that did not fit; times in unix seconds, `raw` is the JSON text. */
export type Quarantined = z.infer<typeof Quarantined>;

/** Which records; omitted members choose all. */
export interface Chosen {
  /** The id of the record, or a part of its text. */
  readonly hash?: string | undefined;
  readonly ids?: readonly number[] | undefined;
  readonly datasets?: readonly string[] | undefined;
}

/** Records in quarantine after an id, at most `limit`, by id: so that any number of them can be read in pages. */
export function readQuarantined(
  session: Session,
  chosen: Chosen,
  page: { readonly after: number; readonly limit: number },
): Promise<Quarantined[]> {
  return session.rows(
    sql`
      select ${q.id}, ${q.dataset}, ${q.scope}, ${q.record_id} as "recordId", extract(epoch from ${q.utime})::int8 as utime, ${q.span}::text as span,
        ${q.path}, ${q.reason}, ${q.raw}, ${q.request}, ${q.attempts},
        extract(epoch from ${q.first_at})::int8 as "firstAt", extract(epoch from ${q.last_at})::int8 as "lastAt"
      from ${q} where ${isChosen(chosen)} and ${q.id} > ${page.after} order by ${q.id} limit ${page.limit}`,
    Quarantined,
  );
}

/** The ids of a stream's records that are in quarantine. Their seconds are known to be incomplete. */
export async function quarantinedAmong(
  session: Session,
  { dataset, scope }: { readonly dataset: string; readonly scope: string },
  records: readonly { readonly id: string; readonly utime: number }[],
): Promise<Set<string>> {
  if (records.length === 0) return new Set();
  const asked = records.map(({ id, utime }) => ({ id, utime }));
  const rows = await session.rows(
    sql`select ${q.record_id} as id from ${q}
        join jsonb_to_recordset(${JSON.stringify(asked)}::jsonb) as r (id text, utime int8)
          on ${q.record_id} = r.id and ${q.span} @> r.utime
        where ${q.dataset} = ${dataset} and ${q.scope} = ${scope}`,
    z.object({ id: z.string() }),
  );
  return new Set(rows.map(({ id }) => id));
}

/** The number of chosen records. */
export function countQuarantined(session: Session, chosen: Chosen): Promise<number> {
  return count(session, sql`${q} where ${isChosen(chosen)}`);
}

function isChosen({ hash, ids, datasets }: Chosen): SQL {
  const ofHash =
    hash === undefined ? sql`true` : sql`(${q.record_id} = ${hash} or strpos(${q.raw}, ${hash}) > 0)`;
  const ofIds =
    ids === undefined
      ? sql`true`
      : sql`${q.id} in (select json_array_elements_text(${JSON.stringify(ids)}::json)::int8)`;
  const ofDatasets = datasets === undefined ? sql`true` : sql`${q.dataset} in (${texts(datasets)})`;
  return sql`(${ofHash} and ${ofIds} and ${ofDatasets})`;
}

/** How much of a dataset does not fit its schema. */
export interface Unfit {
  readonly dataset: string;
  /** Records in quarantine. */
  readonly records: number;
  /** Stored rows of its own table. */
  readonly stored: number;
  /** True if it is more than a few: then the data is missing, even if it is covered. */
  readonly isMuch: boolean;
}

/** One record in this many may be in quarantine. */
const TOLERATED = 100;
/** Maximum number of rows that are counted; for larger tables, Postgres' estimate is used. */
const MOST_COUNTED = 100_000;

/** The datasets with records in quarantine: in a range of seconds, or in total. */
export async function readUnfit(
  session: Session,
  datasets: readonly Dataset<AnyJob>[],
  range?: Range,
): Promise<Unfit[]> {
  const unfit: Unfit[] = [];
  for (const { name, job } of datasets) {
    const [own] = Object.values(job.tables);
    const within = job.kind === 'stream' ? range : undefined;
    const ofRange = within === undefined ? sql`true` : sql`${q.span} && ${rangeParam(within)}`;
    const records = await count(session, sql`${q} where ${q.dataset} = ${name} and ${ofRange}`);
    if (records === 0 || own === undefined) continue;
    const { into } = targetOf(own);
    const most = Math.min(TOLERATED * records, MOST_COUNTED);
    const counted = await count(
      session,
      within === undefined
        ? sql`(select from ${into} limit ${most}) t`
        : sql`(select from ${into} where utime >= ${formatTime(within.from)} and utime < ${formatTime(within.to)} limit ${most}) t`,
    );
    const stored =
      counted < MOST_COUNTED ? counted : Math.max(counted, (await estimateRows(session, own)).rows);
    unfit.push({ dataset: name, records, stored, isMuch: (TOLERATED - 1) * records > stored });
  }
  return unfit;
}

function count(session: Session, from: SQL): Promise<number> {
  return oneValue(session, sql`select count(*) from ${from}`, z.coerce.number());
}

const Kind = z.object({
  dataset: z.string(),
  path: z.string(),
  reason: z.string(),
  records: seconds,
  from: seconds,
  to: seconds,
});

/** Records that do not fit for the same reason, and their range of seconds. */
export type QuarantineKind = z.infer<typeof Kind>;

/** The reasons for quarantine, the most frequent first. */
export function readQuarantineKinds(session: Session, most?: number): Promise<QuarantineKind[]> {
  return session.rows(
    sql`
      select ${q.dataset}, regexp_replace(${q.path}, '\\d+', '*', 'g') as path, ${q.reason}, count(*) as records,
        extract(epoch from min(${q.utime}))::int8 as "from", extract(epoch from max(${q.utime}))::int8 + 1 as "to"
      from ${q} group by 1, 2, 3 order by count(*) desc, 1, 2, 3 limit ${most ?? null}`,
    Kind,
  );
}

/**
 * Deletes records, by id, that were not received since `began` (as Postgres prints it) although their seconds were
 * read again. Either the source does not have them any more, or they fit now.
 */
export async function forgetUnseen(
  session: Session,
  ids: readonly number[],
  covered: readonly Range[],
  began: string,
): Promise<void> {
  await session.run(sql`
    delete from ${q}
    where ${isChosen({ ids })} and ${q.last_at} < ${began}::timestamptz
      and ${multirangeParam(covered)} @> extract(epoch from ${q.utime})::int8`);
}
