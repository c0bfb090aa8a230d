import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { parseRangeText, type Range } from '../../range.ts';
import type { Stream } from './coverage.ts';
import type { Session } from '../connection/database.ts';
import { multirangeParam, rangeParam } from '../connection/sql.ts';
import { growingPause } from './growing-pause.ts';

/** Why a hole stays after it was read again: rows are not to be had, or all are there and do not agree. */
export type HoleReason = 'source_gap' | 'disputed';

/** A hole that reading again did not mend. */
export interface Hole {
  readonly span: Range;
  readonly reason: HoleReason;
  readonly detail: string;
  /** Seconds that must pass at least before the next attempt, so that all of them together cost little. */
  readonly leastPause: number;
}

/**
 * Remembers a hole; each round doubles the pause before the next one, also where its edges have moved since. Rows that
 * are not to be had are refused too, so that the planner keeps away from them until then.
 */
export async function keepHole(session: Session, stream: Stream, hole: Hole): Promise<void> {
  const { dataset, scope, pass } = stream;
  const [span, own] = [
    rangeParam(hole.span),
    sql`dataset = ${dataset} and scope = ${scope} and pass = ${pass}`,
  ];
  await session.run(sql`
    with before as (delete from etl.holes where ${own} and span && ${span} returning rounds, found_at),
    kept as (
      insert into etl.holes (dataset, scope, pass, span, reason, detail, rounds, found_at, retry_at)
      select ${dataset}, ${scope}, ${pass}, ${span}, ${hole.reason}, ${hole.detail}, coalesce(max(rounds), 0) + 1,
        coalesce(min(found_at), now()), clock_timestamp() + greatest(make_interval(secs => ${hole.leastPause}),
          ${growingPause(sql`coalesce(max(rounds), 0)`)})
      from before returning *)
    insert into etl.refused as r (dataset, scope, pass, span, reason, detail, attempts, first_at, retry_at)
    select dataset, scope, pass, span, reason, detail, rounds, found_at, retry_at from kept where reason = 'source_gap'
    on conflict (dataset, scope, pass, span) do update set reason = excluded.reason, detail = excluded.detail,
      attempts = excluded.attempts, retry_at = excluded.retry_at`);
}

/** What has been verified is no hole any more. */
export async function forgetHoles(
  session: Session,
  { dataset, scope }: Stream,
  verified: readonly Range[],
): Promise<void> {
  await session.run(sql`
    delete from etl.holes
    where dataset = ${dataset} and scope = ${scope} and span <@ ${multirangeParam(verified)}`);
}

const Standing = z.object({
  span: z.string().transform((text) => parseRangeText(text)[0] ?? { from: 0, to: 0 }),
  reason: z.enum(['source_gap', 'disputed']),
  due: z.boolean(),
});

type Standing = z.infer<typeof Standing>;

/** Holes that are remembered, and whether they may be read again. */
export function readHoles(session: Session, { dataset, scope }: Stream): Promise<Standing[]> {
  return session.rows(
    sql`select span::text, reason, retry_at <= clock_timestamp() as due from etl.holes
        where dataset = ${dataset} and scope = ${scope} order by lower(span)`,
    Standing,
  );
}

/** How many holes are remembered, of all datasets. */
export async function countHoles(session: Session): Promise<number> {
  const [row] = await session.rows(
    sql`select count(*) as holes from etl.holes`,
    z.object({ holes: z.coerce.number() }),
  );
  return row?.holes ?? 0;
}
