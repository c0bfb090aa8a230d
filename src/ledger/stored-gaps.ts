import { sql, type SQL } from 'drizzle-orm';
import * as z from 'zod';
import { HOUR, type Range, union } from '../range.ts';
import { type Database, type Session, writeTransaction } from '../postgres/database.ts';
import { multirangeParam, rangeParam, spanOfRow } from '../postgres/sql.ts';
import { coverage, leases, refused } from '../tables/etl/coverage.ts';
import { takeOutOfCoverage, type RefusalReason, refuse, type RefusedSpan } from './stored-coverage.ts';

/** Seconds in which the source lacks blocks: no dataset can have all rows of them. */
export interface Gap {
  readonly span: Range;
  /** Which blocks are missing, in one sentence. */
  readonly detail: string;
  /** Minimum pause before the next attempt. */
  readonly pauseSeconds?: number;
}

/** A gap is stored as a refused range of blocks, even if blocks are not crawled. */
const BLOCKS = { dataset: 'blocks', scope: '', pass: 0 };
const REASON = 'source_gap' satisfies RefusalReason;
const isOfGap = sql`${refused.dataset} = ${BLOCKS.dataset} and ${refused.pass} = 0 and ${refused.reason} = ${REASON} and ${refused.retry_at} is not null`;

/** Seconds after a gap in which traces with transactions of the gap may end. */
const AFTERMATH = HOUR;

/** True if the refused range is a gap, which no dataset reads. */
export function isGap({ dataset, reason }: Pick<RefusedSpan, 'dataset' | 'reason'>): boolean {
  return dataset === BLOCKS.dataset && reason === REASON;
}

/** The seconds of all gaps, as a scalar within a statement. No dataset reads them until the blocks appear. */
export function gapSeconds(): SQL {
  return sql`coalesce((select range_agg(${refused.span}) from ${refused} where ${isOfGap}), '{}')`;
}

/**
 * Stores a gap, joined with those that it overlaps, and removes its seconds from the coverage of every dataset. The
 * pause before the next attempt doubles each time.
 */
export function keepGap(database: Database, gap: Gap): Promise<void> {
  return writeTransaction(database, async (session) => {
    const touching = await readGaps(session, [gap.span]);
    const [span] = union(
      [gap.span],
      touching.map((one) => one.span),
    );
    await refuseGap(session, { ...gap, span: span ?? gap.span });
  });
}

/** Replaces a gap by what is left of it. The rest is read again, and so are the ends of its traces and actions. */
export function renewGap(database: Database, old: Range, left: readonly Gap[]): Promise<void> {
  return writeTransaction(database, async (session) => {
    if (left.every(({ span }) => span.from !== old.from || span.to !== old.to))
      await session.run(
        sql`delete from ${refused} where ${isOfGap} and ${refused.span} = ${rangeParam(old)}`,
      );
    for (const gap of left) await refuseGap(session, gap);
    if (left.some(({ span }) => span.from <= old.from && span.to >= old.to)) return;
    const of = (dataset: SQL) => sql`${dataset} in ('traces', 'actions')`;
    await takeOutOfCoverage(session, multirangeParam([{ from: old.to, to: old.to + AFTERMATH }]), {
      leases: of(sql`${leases.dataset}`),
      coverage: of(sql`${coverage.dataset}`),
    });
  });
}

async function refuseGap(session: Session, { span, ...facts }: Gap): Promise<void> {
  await refuse(session, BLOCKS, span, { ...facts, reason: REASON });
  await takeOutOfCoverage(session, multirangeParam([span]), { leases: sql`true`, coverage: sql`true` });
}

const KeptGap = z.object({ span: spanOfRow, detail: z.string(), isDue: z.boolean() });

/** Gaps that touch one of the ranges; `isDue` if the pause before the next attempt is over. */
export function readGaps(
  session: Session,
  ranges: readonly Range[],
): Promise<(Gap & { readonly isDue: boolean })[]> {
  return session.rows(
    sql`select ${refused.span}::text, ${refused.detail}, ${refused.retry_at} <= clock_timestamp() as "isDue"
        from ${refused} where ${isOfGap} and ${refused.span} && ${multirangeParam(ranges)} order by lower(${refused.span})`,
    KeptGap,
  );
}
