import { fillHoles, type FillContext } from '../crawl/streams/read-leases.ts';
import { zonesOf, type Planner } from '../crawl/streams/planner.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownersOf } from '../tables/describe.ts';
import {
  readCoverage,
  subtractCoverage,
  type Stream,
  readUnrepaired,
  refuse,
  type RefusalReason,
  keepGap,
} from '../ledger/stored-coverage.ts';
import { extendToFindings, SEAL } from '../ledger/stored-findings.ts';
import type { Reopening } from '../write/take-out.ts';
import { readVerified } from '../write/certificates.ts';
import { common, type Range, union, without, isInside } from '../range.ts';
import { wholeTables, compareAgain } from './compare-span.ts';
import { type VerifyContext, describeFinding, isLost, spansOf, type Finding } from './checks/check.ts';
import { verifyRange, type Verified } from './verify.ts';
import { dropCopiesBeyond, dropStrayTraces } from './stray-copies.ts';
import { writeTransaction, type Session } from '../postgres/database.ts';
import { byBlock } from '../dataset/paginators/seqnos.ts';
import { registeringBlocks } from '../read/bounding-blocks.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import type { ChainInfo } from '../crawl/source-chain.ts';
import { createBlockSource } from './checks/block-source.ts';

/** A hole can lead to another one: blocks, then their contents. Each is read twice by time and once by block. */
const MOST_ROUNDS = 12;
/** How often a second is read again before what is wrong is attributed to the source. */
const MOST_READINGS = 2;
/** Holes that are at most this many seconds apart are read together, even if the size of a page is not known yet. */
const LEAST_GAP = 5;

export interface RepairContext extends VerifyContext, FillContext {
  /** How far the chain is known: windows do not cross the age from which servers answer from their archive. */
  readonly watermark: number;
  readonly owner: string;
  /** Minimum number of seconds between two attempts at a hole that cannot be filled. */
  readonly leastPauseSeconds: number;
  /** If true, holes are tried at once, even those that wait after failed attempts. */
  readonly ignorePauses: boolean;
}

export interface Repaired {
  readonly reports: readonly Verified[];
  /** How often holes were read again. */
  readonly rounds: number;
}

/**
 * Reads again what verification found missing or wrong, and verifies again, until another reading cannot repair
 * anything. What is still wrong then is attributed to the source: rows that cannot be read are refused, with growing
 * pauses; rows that do not agree stay stored, unverified.
 */
export async function repairRange(
  context: RepairContext,
  datasets: readonly Dataset[],
  range: Range,
  found: readonly Verified[],
): Promise<Repaired> {
  const whole = await withBlocksAbove(context, range, found);
  const isWider = without([whole], [range]).length > 0;
  let reports = isWider ? await verifyRange(context, datasets, whole) : found;
  const tries = new Tries();
  let round = 0;
  for (; round < MOST_ROUNDS && !context.stop.finishing.aborted; round += 1) {
    const begun =
      (await readEach(reports, (report) => readAgain(context, report, tries))) ||
      (await readEach(reports, (report) => readByBlock(context, report, tries)));
    if (!begun) break;
    for (const { dataset, stream } of reports)
      await dropCopiesBeyond(context, dataset, tries.atLeast(1, stream, 'by time'));
    await compareAgain(context, reports);
    // A finding that also lies in other seconds is resolved only if these are checked, too.
    const wide = await extendToFindings(context.database, whole);
    if (without([wide], [whole]).length > 0) await verifyRange(context, datasets, wide);
    reports = await verifyRange(context, datasets, whole);
  }
  // If the process is stopping, holes were not read again, and must not count as unrepaired.
  for (const report of context.stop.finishing.aborted ? [] : reports) await refuseUnrepaired(context, report);
  if (isWider) reports = await verifyRange(context, datasets, range);
  return { reports: await withVerified(context, reports), rounds: round };
}

/** Within this many seconds above a block is the next one of its shard. */
const LINKED_WITHIN = 600;

/**
 * A wrong link is a row of the block above, and the block that it should name is missed in its own second. So if
 * blocks are doubtful, a repair of them also covers the seconds above, up to the first one that is certified.
 */
async function withBlocksAbove(
  { database }: RepairContext,
  range: Range,
  found: readonly Verified[],
): Promise<Range> {
  const report = found.find(({ stream }) => stream.dataset === 'blocks');
  if (report === undefined || !report.findings.some(isDoubtful)) return range;
  const above = { from: range.to, to: range.to + LINKED_WITHIN };
  const covered = common(await readCoverage(database, report.stream), [above]);
  const [open] = without(covered, await readVerified(database, report.stream));
  return open?.from === range.to ? { from: range.from, to: open.to } : range;
}

/** Reports with what is verified now. */
export async function withVerified(
  { database }: RepairContext,
  reports: readonly Verified[],
): Promise<readonly Verified[]> {
  const left: Verified[] = [];
  for (const report of reports)
    left.push({ ...report, verified: common(report.verified, await readVerified(database, report.stream)) });
  return left;
}

async function readEach(
  reports: readonly Verified[],
  read: (report: Verified) => Promise<boolean>,
): Promise<boolean> {
  let begun = false;
  for (const report of reports) begun = (await read(report)) || begun;
  return begun;
}

/** Reads a stream's doubtful seconds again; false if there are none left to try. */
async function readAgain(context: RepairContext, report: Verified, tries: Tries): Promise<boolean> {
  const { stream, dataset, findings } = report;
  const coverage = await readCoverage(context.database, stream);
  const postponed = context.ignorePauses
    ? []
    : (await readUnrepaired(context.database, stream)).filter(
        ({ isDue, reason }) => !isDue || reason === 'source_gap',
      );
  const exhausted = union(
    tries.atLeast(MOST_READINGS, stream, 'by time'),
    postponed.map(({ span }) => span),
  );
  const holes = joinNear(
    context,
    dataset,
    without(common(doubtfulOf(findings), coverage), exhausted),
    coverage,
  );
  if (holes.length === 0) return false;
  tries.add(stream, 'by time', holes);
  const elsewhere = common(await dropStrayTraces(context, report, holes), coverage);
  context.crawl.logger.warn(
    { dataset: dataset.name, holes: holes.length, found: findings.filter(isDoubtful).map(describeFinding) },
    'reading holes again',
  );
  await fillHoles(context, dataset, reopeningOf(context, report, union(holes, elsewhere)));
  return true;
}

/**
 * Reads by masterchain block what windows of time did not repair, because servers search for it differently. Each hole
 * is read once. False if nothing is left, or if its blocks are not known.
 */
async function readByBlock(context: RepairContext, report: Verified, tries: Tries): Promise<boolean> {
  const { dataset, stream, findings, missing } = report;
  if (context.stop.finishing.aborted) return false;
  const left = common(union(doubtfulOf(findings), missing), tries.atLeast(1, stream, 'by time'));
  const holes = without(left, tries.atLeast(1, stream, 'by block'));
  const coverage = await readCoverage(context.database, stream);
  const asked = await datasetByBlock(context.database, dataset, holes, coverage);
  if (asked === undefined) return false;
  tries.add(stream, 'by block', asked.holes);
  context.crawl.logger.warn({ dataset: dataset.name, holes: asked.holes.length }, 'reading holes by block');
  await fillHoles(context, asked.dataset, reopeningOf(context, report, asked.holes));
  return true;
}

function doubtfulOf(findings: readonly Finding[]): Range[] {
  return spansOf(findings.filter(isDoubtful));
}

function isDoubtful(finding: Finding): boolean {
  return isLost(finding) || finding.outcome === 'doubt';
}

/** Holes less than a page apart are read as one: two requests would return the rows between them, too. */
function joinNear(
  { crawl }: RepairContext,
  dataset: Dataset,
  holes: readonly Range[],
  coverage: readonly Range[],
): Range[] {
  const page = Math.max(LEAST_GAP, Math.floor(crawl.tuning(dataset).density.pageSeconds() ?? 0));
  const wide = union(holes.map(({ from, to }) => ({ from, to: to + page })));
  const joined = wide.map(({ from, to }) => ({ from, to: Math.max(from + 1, to - page) }));
  return common(joined, coverage);
}

function reopeningOf(
  { owner, watermark, jobs }: RepairContext,
  { stream, dataset, findings }: Verified,
  holes: readonly Range[],
): Reopening {
  const spansIn = (chosen: readonly Finding[]) =>
    chosen.flatMap(({ table, spans }) => {
      const of = table ?? Object.values(dataset.job.tables)[0];
      return of === undefined ? [] : common(spans, holes).map((span) => ({ table: of, span }));
    });
  return {
    stream,
    owner,
    holes: holes.flatMap((hole) => zonesOf(hole, watermark)),
    surplus: surplusOf(jobs, dataset, findings, holes),
    tables: Object.entries(dataset.job.tables).map(([name, table]) => ({
      name,
      table,
      owner: ownersOf(name, jobs)[0]?.name ?? dataset.name,
    })),
    unsealed: spansIn(findings.filter(({ check, outcome }) => check === SEAL && outcome === 'hole')),
  };
}

/**
 * The seconds of a surplus row are emptied, including the rows that depend on it; rereading restores what the source
 * has. The same goes for a doubt that names a table which may hold a surplus row.
 */
function surplusOf(
  jobs: readonly Dataset[],
  dataset: Dataset,
  findings: readonly Finding[],
  holes: readonly Range[],
) {
  const whole = [...wholeTables(dataset, jobs)].flatMap((name) => dataset.job.tables[name] ?? []);
  return findings
    .filter(
      ({ check, outcome, table }) =>
        outcome === 'surplus' || (outcome === 'doubt' && table !== undefined && check !== SEAL),
    )
    .flatMap(({ table, spans }) =>
      (table === undefined ? whole : [table]).flatMap((of) =>
        common(spans, holes).map((span) => ({ table: of, span })),
      ),
    );
}

/** Stores what is still wrong after rereading, with its cause, and postpones the next attempt. */
async function refuseUnrepaired(context: RepairContext, { stream, findings }: Verified): Promise<void> {
  const { database } = context;
  const coverage = await readCoverage(database, stream);
  const postponed = (await readUnrepaired(database, stream))
    .filter(({ isDue }) => !isDue)
    .map(({ span }) => span);
  const lost = findings.filter(isLost);
  const doubts = findings.filter(({ outcome }) => outcome === 'doubt');
  // The source has the blocks of these seconds, but under names that do not fit the chain.
  const known =
    stream.dataset === 'blocks' ? spansOf(findings.filter(({ outcome }) => outcome === 'known')) : [];
  const gaps = common(spansOf(lost), coverage).filter((gap) => common([gap], known).length === 0);
  const pauseSeconds = context.leastPauseSeconds;
  const keep = async (spans: readonly Range[], reason: RefusalReason, detail: string) => {
    for (const span of spans) await refuse(database, stream, span, { reason, detail, pauseSeconds });
  };
  if (gaps.length > 0) {
    await writeTransaction(database, async (session) => {
      await subtractCoverage(session, { ...stream, pass: 1 }, gaps);
      await subtractCoverage(session, { ...stream, pass: 0 }, gaps);
    });
    const detail = lost.map(describeFinding).join('; ');
    // If blocks are missing, no other dataset can be complete.
    if (stream.dataset === 'blocks')
      for (const span of gaps)
        await keepGap(database, { span, detail: `the source has a gap: ${detail}`, pauseSeconds });
    else await keep(gaps, 'source_gap', detail);
  }
  await keep(
    without(common(spansOf(doubts), coverage), [...gaps, ...postponed]),
    'disputed',
    doubts.map(describeFinding).join('; '),
  );
}

/** How seconds are read again: by windows of time, or by masterchain block. */
type Way = 'by time' | 'by block';

/** Which seconds of each stream were read again in one repair, and how often. */
class Tries {
  /** Index n holds the seconds that were tried n + 1 times. */
  private readonly tried = new Map<string, Range[][]>();

  add(stream: Stream, way: Way, spans: readonly Range[]): void {
    const before = this.tried.get(keyOf(stream, way)) ?? [];
    const counted = [union(before[0] ?? [], spans)];
    for (const [n, once] of before.entries()) counted.push(union(before[n + 1] ?? [], common(once, spans)));
    this.tried.set(keyOf(stream, way), counted);
  }

  /** Seconds that were read again at least this many times. */
  atLeast(times: number, stream: Stream, way: Way): readonly Range[] {
    return this.tried.get(keyOf(stream, way))?.[times - 1] ?? [];
  }
}

function keyOf({ dataset, scope }: Stream, way: Way): string {
  return `${dataset}/${scope} ${way}`;
}

/** A hole of more masterchain blocks than this is too expensive for a last resort: each block is a request. */
const MOST_BLOCKS = 200;
/** Holes with more blocks than this together are not joined: the seconds between them may add further blocks. */
const MOST_JOINED = MOST_BLOCKS / 2;

interface KnownHole {
  readonly hole: Range;
  readonly seqnos: readonly number[];
}

/**
 * The holes that can be read by masterchain block, and the dataset that reads them. Undefined if the source gives no
 * records by block, or if the blocks are not known.
 */
async function datasetByBlock(
  session: Session,
  { name, job }: Dataset,
  holes: readonly Range[],
  coverage: readonly Range[],
) {
  if (job.byBlock === undefined || holes.length === 0) return undefined;
  const known = await joined(session, holes, coverage);
  if (known.length === 0) return undefined;
  const seqnosOf = ({ from }: Range) => known.find(({ hole }) => isInside(from, hole))?.seqnos ?? [];
  const { path, param } = job.byBlock;
  const params = path === job.path ? job.params : {};
  const paginator = byBlock(seqnosOf, { param, maxSize: job.paginator.maxSize });
  return {
    dataset: { name, job: { ...job, path, params, paginator } },
    holes: known.map(({ hole }) => hole),
  };
}

/**
 * Joins holes that share blocks, together with the covered seconds between them, so that each block is requested once.
 * The seconds between may add blocks, and these add holes.
 */
async function joined(
  session: Session,
  holes: readonly Range[],
  coverage: readonly Range[],
): Promise<KnownHole[]> {
  let spans = holes;
  for (;;) {
    const seqnos = await registeringBlocks(session, spans);
    const known = spans.map((hole, index): KnownHole => ({ hole, seqnos: seqnos[index] ?? [] }));
    const groups: KnownHole[] = [];
    for (const one of known.filter((hole) => isAskable(hole.seqnos))) {
      const last = groups.at(-1);
      if (last === undefined || !shareBlocks(last, one, coverage)) groups.push(one);
      else
        groups[groups.length - 1] = {
          hole: { from: last.hole.from, to: one.hole.to },
          seqnos: [...new Set([...last.seqnos, ...one.seqnos])],
        };
    }
    if (groups.length === spans.length) return groups;
    spans = groups.map(({ hole }) => hole);
  }
}

function isAskable({ length }: readonly number[]): boolean {
  return length > 0 && length <= MOST_BLOCKS;
}

/** True if two holes, the earlier one first, share a block, and if nothing between them is still to be read. */
function shareBlocks(before: KnownHole, behind: KnownHole, coverage: readonly Range[]): boolean {
  const between = { from: before.hole.to, to: behind.hole.from };
  return (
    before.seqnos.some((seqno) => behind.seqnos.includes(seqno)) &&
    new Set([...before.seqnos, ...behind.seqnos]).size <= MOST_JOINED &&
    without([between], coverage).length === 0
  );
}

/** The parts of an open crawl that verification needs. */
interface OpenCrawl {
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  readonly owner: string;
}

/** Builds the context of verification and repair from an open crawl. */
export function createRepairContext(
  { context, planner, chain, owner }: OpenCrawl,
  options: Pick<RepairContext, 'watermark' | 'leastPauseSeconds' | 'ignorePauses' | 'jobs' | 'stop'>,
): RepairContext {
  const { database, clock, api } = context;
  const source = createBlockSource(api, chain, options.stop.leaving);
  return { database, clock, crawl: context, planner, owner, source, ...options };
}
