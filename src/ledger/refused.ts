import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import { oneRow, type Session } from '../postgres/database.ts';
import {
  bare,
  multirangeParam,
  rangeParam,
  setExcluded,
  spanOfRow,
  spansOfRow,
  texts,
} from '../postgres/sql.ts';
import { refused } from '../tables/etl/coverage.ts';
import { type Stream, ofStream } from './stored-coverage.ts';

/**
 * Why a range is refused. Every row of a `disputed` range is stored, but the source confirms values that do not agree.
 * Such a range is covered, and only its repair is postponed.
 */
export type RefusalReason = 'saturated' | 'source_gap' | 'failing' | 'changed' | 'disputed';

/** Reasons that verification finds: they end when the range is verified, not when it is read. Called holes here. */
const HOLES: readonly RefusalReason[] = ['source_gap', 'disputed'];
const isHole = sql`${refused.reason} in (${texts(HOLES)})`;

/** True of a range that must not be read for now. */
export const isRefused = sql`(${refused.reason} <> ${'disputed' satisfies RefusalReason} and ${refused.retry_at} is not null)`;

/** Why a range is refused, with one sentence for the operator. */
export interface Refusal {
  readonly reason: RefusalReason;
  readonly detail: string;
  /** Minimum pause before the next attempt. */
  readonly pauseSeconds?: number;
}

/**
 * Refuses a range, and replaces earlier refusals for the same reason that it touches: its borders may have moved since
 * the last attempt. The range is not read before its pause is over. The first pause is a minute; each further one is
 * twice as long, at most a day.
 */
export async function refuse(session: Session, stream: Stream, range: Range, why: Refusal): Promise<void> {
  const { dataset, scope, pass, span, reason, detail, attempts, first_at, retry_at } = refused;
  const key = bare(dataset, scope, pass, span);
  const same = HOLES.includes(why.reason) ? HOLES : [why.reason];
  const before = sql`coalesce(max(b.attempts), 0)`;
  await session.run(sql`
    with before as (
      delete from ${refused} where ${ofStream(refused, stream)} and (${span} = ${rangeParam(range)}
        or (${reason} in (${texts(same)}) and ${span} && ${rangeParam(range)}))
      returning ${attempts}, ${first_at})
    insert into ${refused} (${key}, ${bare(reason, detail, attempts, first_at, retry_at)})
    select ${stream.dataset}, ${stream.scope}, ${stream.pass}::int, ${rangeParam(range)}, ${why.reason}, ${why.detail},
      ${before} + 1, coalesce(min(b.first_at), now()),
      clock_timestamp() + greatest(make_interval(secs => ${why.pauseSeconds ?? 0}),
        least(interval '1 day', interval '1 minute' * 2 ^ least(${before}, 20)))
    from before b
    on conflict (${key}) do update set ${setExcluded(reason, detail, attempts, retry_at)}`);
}

/** Ends the pauses of refused ranges of some datasets, except of ranges that have to mature first. */
export async function endPauses(session: Session, datasets: readonly string[], span: Range): Promise<void> {
  await session.run(sql`
    update ${refused} set ${bare(refused.retry_at)} = clock_timestamp()
    where ${refused.dataset} = any(${sql.param([...datasets])}) and ${refused.span} && ${rangeParam(span)}
      and ${isRefused} and ${refused.reason} <> ${'changed' satisfies RefusalReason}
      and ${refused.retry_at} > clock_timestamp()`);
}

/**
 * Forgets refusals of a range that has been read. The number of attempts at a gap is kept until the gap is verified.
 */
export async function forgetRefusals(session: Session, stream: Stream, span: Range): Promise<void> {
  const isRead = sql`${ofStream(refused, stream)} and ${refused.span} <@ ${rangeParam(span)}`;
  await session.run(sql`
    with known as (
      update ${refused} set ${bare(refused.retry_at)} = null
      where ${isRead} and ${refused.reason} = ${'source_gap' satisfies RefusalReason})
    delete from ${refused} where (${isRead} and not ${isHole})
      or (${ofStream(refused, stream)} and ${refused.reason} = 'failing' and ${refused.span} && ${rangeParam(span)})`);
}

/** Forgets refusals by verification, if their ranges have been verified since. */
export async function forgetHoles(
  session: Session,
  stream: Stream,
  verified: readonly Range[],
): Promise<void> {
  await session.run(sql`
    delete from ${refused} where ${ofStream(refused, stream)} and ${isHole}
      and ${refused.span} <@ ${multirangeParam(verified)}`);
}

const Hole = z.object({ span: spanOfRow, reason: z.string(), due: z.boolean() });

/** Ranges that verification refused, and whether they may be read again. */
export function readHoles(session: Session, stream: Stream): Promise<z.infer<typeof Hole>[]> {
  return session.rows(
    sql`select ${refused.span}::text, ${refused.reason}, coalesce(${refused.retry_at} <= clock_timestamp(), true) as due
        from ${refused} where ${ofStream(refused, stream)} and ${isHole} order by lower(${refused.span})`,
    Hole,
  );
}

/** How many ranges verification has refused, over all datasets. */
export async function countHoles(session: Session): Promise<number> {
  const row = await oneRow(
    session,
    sql`select count(*) as holes from ${refused} where ${isHole}`,
    z.object({ holes: z.coerce.number() }),
  );
  return row.holes;
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

/** A range that could not be read, the reason, and when it is retried, in unix seconds. */
export type RefusedSpan = z.infer<typeof RefusedSpan>;

export function readAllRefused(session: Session): Promise<RefusedSpan[]> {
  return session.rows(
    sql`select ${refused.dataset}, ${refused.scope}, ${refused.span}::text, ${refused.reason}, ${refused.detail},
          ${refused.attempts}, extract(epoch from ${refused.retry_at})::int8 as "retryAt"
        from ${refused} where ${isRefused} order by ${refused.dataset}, ${refused.scope}, lower(${refused.span})`,
    RefusedSpan,
  );
}

const RefusedRange = z.object({
  span: spanOfRow,
  retryAt: z.coerce.number(),
});

/** Ranges of a stream that were refused for one reason, and when each is retried, in unix seconds. */
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
