import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { LONGEST_PAGES } from '../crawl/request-bounds.ts';
import { streamOf } from '../crawl/streams/planner.ts';
import { type AlsoHeld, alsoHeldAmong, type Dataset } from '../dataset/dataset.ts';
import { addCoverage, readCoverage, readMissing } from '../ledger/stored-coverage.ts';
import { type Session, writeTransaction } from '../postgres/database.ts';
import { claimLease, holdLease, releaseLease, type Lease } from '../ledger/leases.ts';
import { isAbort, LeaseLostError } from '../errors.ts';
import { common, DAY, lengthOf, type Range, without } from '../range.ts';
import { countOf, spansOf, type VerifyContext } from './checks/check.ts';
import { countTransactions } from './checks/check-transactions.ts';
import { runStep, verifyRange } from './verify.ts';
import { during } from '../postgres/sql.ts';

const LONGEST = DAY;

export interface DeriveContext extends VerifyContext {
  readonly owner: string;
}

/**
 * Adds to the coverage of transactions what the pages of traces have stored, without a request. These are seconds of
 * which every block is proved to be stored, with as many transactions as it says. Only the blocks decide; the coverage
 * of traces tells whether it is worth looking. All other seconds are read as usual.
 * @returns the seconds that are covered now without a request
 */
export async function deriveTransactions(context: DeriveContext, range: Range): Promise<number> {
  try {
    let derived = 0;
    for (const held of alsoHeldAmong(context.jobs)) derived += await deriveUntilStopped(context, held, range);
    return derived;
  } catch (error) {
    if (context.stop.finishing.aborted && isAbort(error)) return 0;
    throw error;
  }
}

async function deriveUntilStopped(
  context: DeriveContext,
  { dataset, holder, countedBy }: AlsoHeld,
  range: Range,
): Promise<number> {
  const { database } = context;
  const missing = await readMissing(database, streamOf(dataset), [range]);
  const candidates = common(missing, await readCoverage(database, streamOf(holder)));
  if (common(candidates, await readCoverage(database, streamOf(countedBy))).length === 0) return 0;
  let wanted = common(missing, await provedBlocks(context, countedBy, range));
  const size = dataset.job.paginator.maxSize;
  let derived = 0;
  while (wanted.length > 0 && !context.stop.finishing.aborted) {
    const length = await lengthOfPages(database, wanted, size);
    const claim = { stream: streamOf(dataset), wanted, length: () => length, owner: context.owner };
    const lease = await claimLease(database, { ...claim, priority: 'backfill' });
    if (lease === undefined) break;
    derived += await coverLease(context, lease, size);
    wanted = without(wanted, [lease.span]);
  }
  return derived;
}

async function provedBlocks(
  context: DeriveContext,
  blocks: Dataset,
  range: Range,
): Promise<readonly Range[]> {
  const reports = await verifyRange(context, [blocks], range);
  return reports.find(({ dataset }) => dataset === blocks)?.verified ?? [];
}

/** The seconds that hold about one lease's pages of stored transactions. */
async function lengthOfPages(session: Session, wanted: readonly Range[], size: number): Promise<number> {
  const [from, to] = [wanted[0]?.from ?? 0, wanted.at(-1)?.to ?? 0];
  const count = await countOf(
    session,
    sql`select count(*) as count from ton.transactions t where ${during('t', { from, to })}`,
  );
  return Math.min(LONGEST, Math.ceil(((to - from) * LONGEST_PAGES * size) / Math.max(1, count)));
}

/**
 * Covers the seconds of a lease whose rows are stored already, under the same lock and check as a page's commit.
 * Seconds that the check did not confirm stay missing. Rows can only be added meanwhile: a process that removes rows
 * takes the lease away.
 */
async function coverLease({ database, stop }: DeriveContext, lease: Lease, size: number): Promise<number> {
  try {
    const { findings } = await runStep({ database, stop }, lease.stream, countTransactions(lease.span));
    const holes = common(spansOf(findings), [lease.span]);
    const stored = without([lease.span], holes);
    return await writeTransaction(database, async (session) => {
      await holdLease(session, lease, lease.span);
      const rows = await countsOf(session, stored);
      const kept = worthKeeping(
        lease.span,
        stored.map((span, index) => ({ span, rows: rows[index] ?? 0 })),
        size,
      );
      for (const span of kept) await addCoverage(session, lease.stream, span);
      return lengthOf(kept);
    });
  } catch (error) {
    if (!(error instanceof LeaseLostError)) throw error;
    return 0;
  } finally {
    await releaseLease(database, lease).catch(() => undefined);
  }
}

/** The number of stored transactions in each range, in the order of the ranges. */
async function countsOf(session: Session, spans: readonly Range[]): Promise<number[]> {
  const rows = await session.rows(
    sql`
      select (select count(*) from ton.transactions t
        where t.utime >= to_timestamp((s->>'from')::float8) and t.utime < to_timestamp((s->>'to')::float8)) as count
      from json_array_elements(${JSON.stringify(spans)}::json) with ordinality as e (s, position) order by position`,
    z.object({ count: z.coerce.number() }),
  );
  return rows.map(({ count }) => count);
}

/** If holes are a larger share of a span than this, reading each of them costs more than reading the span. */
const MOST_HOLES = 1 / 5;

/**
 * The stretches, whose rows are all stored, that need not be read. A stretch of less than a page between two holes is read along with them, by one
 * request instead of two. If more than a fifth of the span then consists of holes, it is read as a whole, because each
 * hole costs a request and a range of coverage.
 */
export function worthKeeping(
  span: Range,
  stretches: readonly { readonly span: Range; readonly rows: number }[],
  pageSize: number,
): Range[] {
  const kept = stretches
    .filter(({ span: { from, to }, rows }) => rows >= pageSize || from === span.from || to === span.to)
    .map((stretch) => stretch.span);
  const holes = without([span], kept);
  return lengthOf(holes) > lengthOf([span]) * MOST_HOLES ? [] : kept;
}
