import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Range } from '../range.ts';
import type { Session } from '../postgres/database.ts';
import { insertInto, multirangeParam, rangeParam, spanOfRow } from '../postgres/sql.ts';
import { holes } from '../tables/etl/verification.ts';
import type { Stream } from './stored-coverage.ts';
import { ofStream } from './of-stream.ts';
import { insertRefusals, pauseAfter } from './refused.ts';

/** Why a hole stays after it was read again: rows are not to be had, or all are there and do not agree. */
export type HoleReason = 'source_gap' | 'disputed';

/** A hole that is there after it was read again. */
export interface Hole {
  readonly span: Range;
  readonly reason: HoleReason;
  readonly detail: string;
  /** What must pass at least before the next attempt, so that all of them together cost little. */
  readonly leastPauseSeconds: number;
}

/**
 * Remembers a hole; each round doubles the pause before the next one, also where its edges have moved since. Rows that
 * are not to be had are refused too, so that the planner keeps away from them until then.
 */
export async function keepHole(session: Session, stream: Stream, hole: Hole): Promise<void> {
  const span = rangeParam(hole.span);
  const before = sql`coalesce(max(b.rounds), 0)`;
  const row = insertInto(holes, {
    ...stream,
    span,
    reason: hole.reason,
    detail: hole.detail,
    rounds: sql`(select ${before} + 1 from before b)`,
    found_at: sql`(select coalesce(min(b.found_at), now()) from before b)`,
    retry_at: sql`(select clock_timestamp() + greatest(make_interval(secs => ${hole.leastPauseSeconds}),
      ${pauseAfter(before)}) from before b)`,
  });
  await session.run(sql`
    with before as (
      delete from ${holes} where ${ofStream(holes, stream)} and ${holes.span} && ${span}
      returning ${holes.rounds}, ${holes.found_at}),
    kept as (
      ${row} returning ${holes.span}, ${holes.reason}, ${holes.detail}, ${holes.rounds} as tried,
        ${holes.found_at} as first_at, ${holes.retry_at})
    ${insertRefusals(stream, sql`(select * from kept where reason = 'source_gap')`)}`);
}

/** What has been verified is no hole any more. */
export async function forgetHoles(
  session: Session,
  { dataset, scope }: Stream,
  verified: readonly Range[],
): Promise<void> {
  await session.run(sql`
    delete from ${holes} where ${holes.dataset} = ${dataset} and ${holes.scope} = ${scope}
      and ${holes.span} <@ ${multirangeParam(verified)}`);
}

const HoleStanding = z.object({
  span: spanOfRow,
  reason: z.enum(['source_gap', 'disputed']),
  due: z.boolean(),
});

type HoleStanding = z.infer<typeof HoleStanding>;

/** Holes that are remembered, and whether they may be read again. */
export function readHoles(session: Session, { dataset, scope }: Stream): Promise<HoleStanding[]> {
  return session.rows(
    sql`select ${holes.span}::text, ${holes.reason}, ${holes.retry_at} <= clock_timestamp() as due from ${holes}
        where ${holes.dataset} = ${dataset} and ${holes.scope} = ${scope} order by lower(${holes.span})`,
    HoleStanding,
  );
}

/** How many holes are remembered, of all datasets. */
export async function countHoles(session: Session): Promise<number> {
  const [row] = await session.rows(
    sql`select count(*) as holes from ${holes}`,
    z.object({ holes: z.coerce.number() }),
  );
  return row?.holes ?? 0;
}
