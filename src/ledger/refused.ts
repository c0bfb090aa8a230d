import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { bare, rangeParam, setExcluded, spanOfRow, spansOfRow } from '../postgres/sql.ts';
import { refused } from '../tables/etl/coverage.ts';
import type { Stream } from './stored-coverage.ts';
import { ofStream } from './of-stream.ts';

/** Why a range cannot be read for now. */
export type RefusalReason =
  'saturated' | 'beyond_reach' | 'source_gap' | 'quarantined' | 'failing' | 'changed';

/** Why a range is refused, with one sentence for the operator. */
export interface Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;
}

/** Refuses a range: it is not asked for before its pause is over. */
export async function refuse(
  session: Session,
  stream: Stream,
  span: Range,
  { reason, detail }: Refusal,
): Promise<void> {
  const before = sql`coalesce(max(${refused.attempts}), 0)`;
  await session.run(
    insertRefusals(
      stream,
      sql`(
        select ${rangeParam(span)} as span, ${reason}::text as reason, ${detail}::text as detail, ${before} + 1 as tried,
          now() as first_at, clock_timestamp() + ${pauseAfter(before)} as retry_at
        from ${refused} where ${ofStream(refused, stream)} and ${refused.span} = ${rangeParam(span)})`,
    ),
  );
}

/**
 * Refuses a range instead of those of the same reason that it touches: its borders may have moved since the last
 * attempt. `pauseSeconds` is the least pause.
 */
export async function refuseAnew(
  session: Session,
  stream: Stream,
  span: Range,
  facts: Refusal & { readonly pauseSeconds: number },
): Promise<void> {
  const { reason, detail, pauseSeconds } = facts;
  const [earlier] = await session.rows(
    sql`
      with gone as (
        delete from ${refused} where ${ofStream(refused, stream)} and ${refused.reason} = ${reason}
          and ${refused.span} && ${rangeParam(span)}
        returning ${refused.attempts})
      select coalesce(max(attempts), 0) as attempts from gone`,
    z.object({ attempts: z.coerce.number() }),
  );
  const tried = sql`${earlier?.attempts ?? 0}::int`;
  await session.run(
    insertRefusals(
      stream,
      sql`(
        select ${rangeParam(span)} as span, ${reason}::text as reason, ${detail}::text as detail, ${tried} + 1 as tried,
          now() as first_at,
          clock_timestamp() + greatest(make_interval(secs => ${pauseSeconds}), ${pauseAfter(tried)}) as retry_at)`,
    ),
  );
}

/**
 * Refuses ranges of a stream. `ranges` is a query within a statement, or the name of one, with span, reason, detail,
 * tried (how often), first_at and retry_at.
 */
export function insertRefusals({ dataset, scope, pass }: Stream, ranges: SQL): SQL {
  const { span, reason, detail, attempts, first_at, retry_at } = refused;
  const key = bare(refused.dataset, refused.scope, refused.pass, span);
  return sql`
    insert into ${refused} (${key}, ${bare(reason, detail, attempts, first_at, retry_at)})
    select ${dataset}, ${scope}, ${pass}::int, r.span, r.reason, r.detail, r.tried, r.first_at, r.retry_at from ${ranges} r
    on conflict (${key}) do update set ${setExcluded(reason, detail, attempts, retry_at)}`;
}

/** How long to wait after so many attempts before the last one: a minute, twice as long each time, at most a day. */
export function pauseAfter(attempts: SQL): SQL {
  return sql`least(interval '1 day', interval '1 minute' * 2 ^ least(${attempts}, 20))`;
}

/** Lets a range of datasets be asked for again at once, but for what has to mature first. */
export async function endPauses(session: Session, datasets: readonly string[], span: Range): Promise<void> {
  await session.run(sql`
    update ${refused} set ${bare(refused.retry_at)} = clock_timestamp()
    where ${refused.dataset} = any(${sql.param([...datasets])}) and ${refused.span} && ${rangeParam(span)}
      and ${refused.reason} <> ${'changed' satisfies RefusalReason} and ${refused.retry_at} > clock_timestamp()`);
}

/** What was refused once and has been read now is no longer refused. */
export async function forgetRefusals(session: Session, stream: Stream, span: Range): Promise<void> {
  await session.run(sql`
    delete from ${refused}
    where ${ofStream(refused, stream)} and (${refused.span} <@ ${rangeParam(span)}
      or (${refused.reason} = 'failing' and ${refused.span} && ${rangeParam(span)}))`);
}

const RefusedSpan = z.object({
  dataset: z.string(),
  scope: z.string(),
  span: spansOfRow,
  reason: z.string(),
  detail: z.string(),
  attempts: z.number(),
  retryAt: z.coerce.number(),
});

/** What could not be read, why, and when it is asked for again, unix seconds. */
export type RefusedSpan = z.infer<typeof RefusedSpan>;

export function readAllRefused(session: Session): Promise<RefusedSpan[]> {
  return session.rows(
    sql`select ${refused.dataset}, ${refused.scope}, ${refused.span}::text, ${refused.reason}, ${refused.detail},
          ${refused.attempts}, extract(epoch from ${refused.retry_at})::int8 as "retryAt"
        from ${refused} order by ${refused.dataset}, ${refused.scope}, lower(${refused.span})`,
    RefusedSpan,
  );
}

const RefusedRange = z.object({
  span: spanOfRow,
  retryAt: z.coerce.number(),
});

/** Ranges of a stream that were set aside for one reason, and when each is asked for again, in unix seconds. */
export function readRefused(
  session: Session,
  stream: Stream,
  reason: RefusalReason,
): Promise<z.infer<typeof RefusedRange>[]> {
  return session.rows(
    sql`select ${refused.span}::text, ceil(extract(epoch from ${refused.retry_at}))::int8 as "retryAt" from ${refused}
        where ${ofStream(refused, stream)} and ${refused.reason} = ${reason} order by lower(${refused.span})`,
    RefusedRange,
  );
}
