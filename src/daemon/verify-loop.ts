import { loadJobs } from '../dataset/load-jobs.ts';
import { isAnsweredWrongly } from '../crawl/source-guard.ts';
import { streamsOf } from '../crawl/streams/planner.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { readCoverage, countUnrepaired } from '../ledger/stored-coverage.ts';
import { extendToFindings } from '../ledger/stored-findings.ts';
import { readVerified } from '../write/certificates.ts';
import { takeDuty } from '../ledger/leases.ts';
import { concernsRun, EtlError } from '../errors.ts';
import { common, DAY, formatRange, HOUR, union, without, type Range } from '../range.ts';
import { createRepairContext, repairRange, type RepairContext } from '../verify/repair.ts';
import { runRounds, type DaemonContext, type ChainPosition } from './daemon-context.ts';
import { closeDays } from '../verify/prove.ts';
import { verifyRange, type Verified } from '../verify/verify.ts';
import { isLost, spansOf } from '../verify/checks/check.ts';

/** A round requests about this many pages of blocks, and may spend a hundredth of the budget. */
const REQUESTS_OF_A_ROUND = 4;
const SHARE = 0.01;
const SHORTEST_PERIOD_MS = 60_000;
/** A daemon that has been absent for this many periods is dead, or repairs a lot: another one verifies. */
const PERIODS = 10;
/** Maximum number of seconds of chain time in one round: a few seconds of work for Postgres. */
const CHUNK = 3 * HOUR;
/** The newest covered seconds wait: once later blocks are stored, a range is closed with a single request. */
const LEAD = 120;
/** Milliseconds before an unproved range is verified again, doubled each time. */
const FIRST_PAUSE_MS = 10 * 60_000;
const LONGEST_PAUSE_MS = 1000 * DAY;

interface VerifyLoopOptions extends DaemonContext {
  /** The watermark, unix seconds. */
  readonly watermark: () => number;
}

/** Verifies ranges one after the other, and repairs them before history goes on. */
export async function runVerifyLoop(daemon: DaemonContext, position: ChainPosition): Promise<void> {
  const loop = await createVerifyLoop({ ...daemon, watermark: () => position.watermark.utime });
  const rounds = { what: 'verification', periodMs: loop.periodMs, isLater: true };
  await runRounds(daemon, rounds, (own) => loop.round(own));
}

interface DoubtfulSpan {
  readonly span: Range;
  readonly pauseMs: number;
  readonly until: number;
}

/** Verifies what the daemon has covered. One of several daemons does it. */
export async function createVerifyLoop(options: VerifyLoopOptions) {
  const { stop, owner } = options;
  const secondsFor = (requests: number) => requests / options.context.api.inFlight.rateOf(SHARE);
  const jobs = await loadJobs();
  const periodMs = Math.max(SHORTEST_PERIOD_MS, 1000 * secondsFor(REQUESTS_OF_A_ROUND));
  let doubts: readonly DoubtfulSpan[] = [];
  let end: StretchEnd = 'oldest';
  return {
    /** Milliseconds between two rounds, so that they use a hundredth of the budget. */
    periodMs,
    /**
     * Verifies and repairs the newest or the oldest unverified range, in turns. Returns false if there is none,
     * or if another daemon does it.
     */
    async round(context = options.context): Promise<boolean> {
      if (!(await takeDuty(context.database, 'verification', owner, (PERIODS * periodMs) / 1000)))
        return false;
      const now = context.clock.monotonic();
      const waiting = doubts.filter(({ until }) => until > now).map(({ span }) => span);
      end = end === 'newest' ? 'oldest' : 'newest';
      const range = await nextRange(options, waiting, end);
      if (range === undefined) return false;
      const holes = await countUnrepaired(context.database);
      const repair = createRepairContext(
        { ...options, context },
        {
          jobs,
          stop,
          watermark: options.watermark(),
          leastPauseSeconds: secondsFor(REQUESTS_OF_A_ROUND * (holes + 1)),
          ignorePauses: false,
        },
      );
      const reports = await verifyAndRepair(repair, options.datasets, range);
      doubts = postpone(doubts, unprovedIn(range, reports), now);
      await closeDays(context.database, range);
      return true;
    },
  };
}

/**
 * If a check fails for good, it is logged and the range waits; the daemon continues. The same holds if the
 * source fails for a request of a check: another range may fare better.
 */
async function verifyAndRepair(
  context: RepairContext,
  datasets: readonly Dataset[],
  range: Range,
): Promise<readonly Verified[]> {
  const { logger } = context.crawl;
  try {
    const found = await verifyRange(context, datasets, range);
    const { reports, rounds } = await repairRange(context, datasets, range, found);
    const fields = {
      range: formatRange(range),
      proved: reports.every(({ findings }) => findings.length === 0),
      repairs: rounds,
    };
    // Only repairs are logged as news: the newest range is not proved before its second reading.
    if (rounds === 0) logger.debug(fields, 'range verified');
    else logger.info(fields, 'range verified');
    return reports;
  } catch (error) {
    if (!(error instanceof EtlError) || (concernsRun(error) && !isAnsweredWrongly(error))) throw error;
    logger.error(
      { range: formatRange(range), code: error.code, reason: error.message },
      'verification failed',
    );
    return [];
  }
}

/**
 * The covered seconds without their grade; the whole range if there is no report. Rows that are not available
 * were taken out of coverage, and are verified as soon as they are read again.
 */
function unprovedIn(range: Range, reports: readonly Verified[]): Range[] {
  if (reports.length === 0) return [range];
  return union(
    ...reports.flatMap(({ findings }) => {
      const lost = spansOf(findings.filter(isLost));
      return findings.map(({ spans }) => without(spans, lost));
    }),
  );
}

/** Doubles the pause of a range each time that it stays unproved. */
function postpone(doubts: readonly DoubtfulSpan[], unproved: readonly Range[], now: number): DoubtfulSpan[] {
  const touched = (span: Range) => common([span], unproved).length > 0;
  const again = unproved.map((span): DoubtfulSpan => {
    const before = doubts.filter((doubt) => common([doubt.span], [span]).length > 0);
    const longest = Math.max(FIRST_PAUSE_MS / 2, ...before.map(({ pauseMs }) => pauseMs));
    const pauseMs = Math.min(LONGEST_PAUSE_MS, 2 * longest);
    return { span, pauseMs, until: now + pauseMs };
  });
  return [...doubts.filter(({ span, until }) => !touched(span) && until > now), ...again];
}

/**
 * Which range comes next. Each round leaves a new one at the head of the chain: if the newest were always
 * taken, older seconds would never be verified.
 */
type StretchEnd = 'newest' | 'oldest';

/** The next range to verify, extended to the first second of a known finding. */
async function nextRange(
  options: VerifyLoopOptions,
  waiting: readonly Range[],
  end: StretchEnd,
): Promise<Range | undefined> {
  const next = await nextUnverified(options, waiting, end);
  if (next === undefined) return undefined;
  const { from } = await extendToFindings(options.context.database, next);
  return { from: Math.max(from, next.to - CHUNK), to: next.to };
}

/** The newest or oldest range of any dataset that is covered (and confirmed, if needed) but not verified. */
async function nextUnverified(
  { context, datasets, watermark }: VerifyLoopOptions,
  waiting: readonly Range[],
  end: StretchEnd,
): Promise<Range | undefined> {
  const { database } = context;
  const ripe = [{ from: 0, to: watermark() - LEAD }];
  const found: Range[] = [];
  for (const dataset of datasets) {
    for (const stream of await streamsOf(database, dataset)) {
      const once = await readCoverage(database, stream);
      const covered =
        dataset.job.maturitySeconds === undefined
          ? once
          : common(once, await readCoverage(database, { ...stream, pass: 1 }));
      found.push(...without(common(covered, ripe), [...(await readVerified(database, stream)), ...waiting]));
    }
  }
  const [first] = found.toSorted((a, b) => (end === 'newest' ? b.to - a.to : a.from - b.from));
  if (first === undefined) return undefined;
  return end === 'newest'
    ? { from: Math.max(first.from, first.to - CHUNK), to: first.to }
    : { from: first.from, to: Math.min(first.to, first.from + CHUNK) };
}
