import { createInterruptibleSleep, outlast, outlastDatabase, CONFLICT, retry } from '../../clock.ts';
import type { Stop } from '../../stop.ts';
import { type CrawlContext, alsoOnPage } from '../crawl-context.ts';
import { type IdleReaders, readPages } from './read-pages.ts';
import type { Priority } from '../../budget/request-budget.ts';
import {
  type Assignment,
  type Planner,
  type Want,
  missingOf,
  firstReadings,
  secondReadings,
} from './planner.ts';
import { readMissing, refuse } from '../../ledger/stored-coverage.ts';
import { keepAlive, renewLease, releaseLease, isLeased, renewLeases } from '../../ledger/leases.ts';
import { LeaseLostError, type EtlError } from '../../errors.ts';
import { formatRange, type Range } from '../../range.ts';
import { explainByGap } from '../gaps.ts';
import { levelOf, readUnlessRefused } from '../source-guard.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { ReadablePart } from './readable-part.ts';
import { reopen, type Reopening } from '../../write/take-out.ts';

/** Milliseconds between two searches for work if none was found. */
const IDLE_MS = 250;

interface ReadLeasesOptions {
  readonly context: CrawlContext;
  readonly stop: Stop;
  readonly planner: Pick<Planner, 'others'>;
  /** The priority of the leases. All processes that read leases of this priority share the readers. */
  readonly priority: Priority;
  /** At most this many next leases for idle readers; empty if nothing is free now. */
  readonly take: (readers: number) => Promise<readonly Assignment[]>;
  /** Called when nothing is free and no reader is busy: false if work may still come. */
  readonly isOver: () => Promise<boolean>;
  /** Milliseconds between two searches for work if none was found; default 250. */
  readonly idleMs?: number;
}

/**
 * Reads as many leases at once as requests should be in flight, counting those of other processes, until
 * nothing is left or `stop` says so. If the API fails for good for one lease, it is refused for a while and
 * logged. If the API or the database is down, all readers end and the error is thrown.
 */
export async function readLeases(options: ReadLeasesOptions): Promise<void> {
  const { context, stop, planner, priority, take, isOver, idleMs = IDLE_MS } = options;
  const { inFlight } = context.api;
  const pause = createInterruptibleSleep(context.clock);
  const readings = new Set<Promise<void>>();
  const failures: unknown[] = [];
  let isStarving = false;
  const idleReaders: IdleReaders = {
    count: () => (isStarving ? Math.max(0, inFlight.evenShare() - readings.size) : 0),
    wake: () => {
      isStarving = false;
      pause.end();
    },
  };
  const fail = (error: unknown) => void failures.push(error);
  const read = (assignment: Assignment) => {
    const reading = crawlLease(context, assignment, { stop, idleReaders })
      .catch(fail)
      .then(() => {
        readings.delete(reading);
        pause.end();
      });
    readings.add(reading);
  };
  const handOut = async () => {
    while (!stop.finishing.aborted && failures.length === 0) {
      if (readings.size < inFlight.target) inFlight.noteOthers(await planner.others(priority));
      const room = Math.ceil(inFlight.share() - readings.size);
      const assignments = room > 0 ? await take(room) : [];
      isStarving = room > 0 && assignments.length === 0;
      inFlight.noteIdle(isStarving && readings.size === 0);
      if (assignments.length > 0) assignments.forEach(read);
      // Another worker's lease may be cut and leave work for this one.
      else if (readings.size === 0 && (await isOver())) return;
      else await pause.sleep(room > 0 ? idleMs : IDLE_MS);
    }
  };
  stop.finishing.addEventListener('abort', idleReaders.wake);
  await handOut().catch(fail);
  stop.finishing.removeEventListener('abort', idleReaders.wake);
  inFlight.noteIdle(false);
  await Promise.all(readings);
  if (failures.length > 0) throw failures[0];
}

/** Used if a lease is read alone: no reader waits for work. */
const NO_IDLE_READERS: IdleReaders = { count: () => 0, wake: () => undefined };

/**
 * Reads a lease, and releases what is left of it. If the API fails for good for a range, the range is refused
 * for a while and logged.
 * @throws every error that stops the other readers too, after the lease was released
 */
export async function crawlLease(
  context: CrawlContext,
  assignment: Assignment,
  { stop, idleReaders = NO_IDLE_READERS }: { readonly stop: Stop; readonly idleReaders?: IdleReaders },
): Promise<void> {
  const { database, logger } = context;
  const { dataset, lease } = assignment;
  const { stream } = lease;
  const renew = () => renewLease(database, lease);
  const stopRenewing = keepAlive(context, { what: `a lease of ${dataset.name}`, renew });
  let rest = lease.span;
  const network = context.network.begin();
  const read = async () => {
    for await (rest of readPages(context, { ...assignment, stop, idleReaders, network }));
  };
  const logLost = () => {
    logger.warn({ dataset: dataset.name, scope: stream.scope, range: formatRange(rest) }, 'lease lost');
  };
  const lost = (error: unknown) => {
    if (!(error instanceof LeaseLostError)) throw error;
    logLost();
  };
  try {
    const failure = await readUnlessRefused({ context, stream, stop }, () => read().catch(lost));
    // The range is refused while its lease is held. Otherwise another reader could claim it and send the same
    // request again.
    if (failure === undefined) return;
    if (dataset.name === 'blocks' && (await explainByGap(context, rest, failure, stop.leaving))) return;
    if (await renew()) await refuseRest(context, assignment, rest, failure);
    else logLost();
  } finally {
    stopRenewing();
    // The commit that completes a lease also ends it.
    if (rest.from < rest.to) await releaseLease(database, lease).catch(() => undefined);
  }
}

async function refuseRest(
  { database, logger }: CrawlContext,
  { dataset, lease: { stream } }: Assignment,
  rest: Range,
  failure: EtlError,
): Promise<void> {
  const { code, message } = failure;
  for (const span of await readMissing(database, stream, [rest])) {
    const range = formatRange(span);
    logger[levelOf(failure)](
      { dataset: dataset.name, scope: stream.scope, range, code, reason: message },
      'range refused',
    );
    await refuse(database, stream, span, { reason: 'failing', detail: message });
  }
}

export interface CrawlOptions {
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly datasets: readonly Dataset[];
  readonly readable: ReadablePart;
  readonly stop: Stop;
  /** Attempts while the API or the database is down; default 1. */
  readonly attempts?: number;
  /** If true, ranges that have matured since their first reading are read a second time. */
  readonly again?: boolean;
  /** A dataset that is read last. `derive` first covers what the pages of other datasets contain of it. */
  readonly derived?: { readonly dataset: string; readonly derive: (range: Range) => Promise<unknown> };
}

/** Covers a range once. Returns the ranges that are still missing, by dataset. */
export async function fillRange(options: CrawlOptions): Promise<ReadonlyMap<string, readonly Range[]>> {
  const { context, datasets, derived, readable, stop } = options;
  const { range, watermark } = readable;
  if (range === undefined) return new Map();
  const { attempts = 1 } = options;
  await outlast({ ...context, attempts, signal: stop.finishing }, 'the backfill', async (onAnswer) => {
    const own = { ...options, context: alsoOnPage(context, onAnswer) };
    const others = datasets.filter(({ name }) => name !== derived?.dataset);
    if (others.length < datasets.length) {
      await coverOnce({ ...own, datasets: others }, range);
      if (!stop.finishing.aborted) await derived?.derive(range);
    }
    await coverOnce(own, range);
  });
  const waiting = { ...context, attempts, signal: stop.leaving };
  return outlastDatabase(waiting, () => missingOf(context, datasets, range, watermark));
}

async function coverOnce(options: CrawlOptions, range: Range): Promise<void> {
  if (options.datasets.length === 0) return;
  // Computed for each lease, because reading one dataset may reveal new pools of another.
  const take = async (readers: number) => options.planner.takeSome(await wantsOf(options, range), readers);
  const names = options.datasets.map(({ name }) => name);
  // If another worker gives its lease up unread, this process has to read that range.
  const isOver = async () => !(await isLeased(options.context.database, names, range));
  await readLeases({ ...options, priority: 'backfill', isOver, take });
}

async function wantsOf({ context, datasets, readable, again }: CrawlOptions, range: Range): Promise<Want[]> {
  const first = await firstReadings(context.database, datasets, {
    range,
    watermark: readable.watermark,
    priority: 'backfill',
  });
  if (again !== true) return first;
  return [...first, ...(await secondReadings(context.database, datasets, range, readable.watermark))];
}

export interface FillContext {
  readonly crawl: CrawlContext;
  readonly planner: Planner;
  readonly stop: Stop;
}

/**
 * Takes holes out of coverage and reads them again. The same transaction leases them, and the leases are held
 * until a reader is free. If a lease is lost or cut, the rest of it is claimed again.
 */
export async function fillHoles(
  { crawl, planner, stop }: FillContext,
  dataset: Dataset,
  reopening: Reopening,
): Promise<void> {
  const { stream, holes } = reopening;
  const priority = 'repair';
  const want: Want = { dataset, stream, zones: holes.map((hole) => [hole]), priority };
  const waiting = await retry({ ...crawl, ...CONFLICT }, () => reopen(crawl.database, reopening));
  const take = async (readers: number) => {
    const lease = waiting.shift();
    return lease === undefined ? planner.takeSome([want], readers) : [{ ...want, lease }];
  };
  const renew = async () => {
    const asked = [...waiting];
    const held = new Set(await renewLeases(crawl.database, asked));
    const lost = asked.filter((lease) => !held.has(lease) && waiting.includes(lease));
    if (lost.length === 0) return;
    crawl.logger.warn({ dataset: dataset.name, scope: stream.scope, leases: lost.length }, 'leases lost');
    for (const lease of lost) waiting.splice(waiting.indexOf(lease), 1);
  };
  const what = `leases of ${dataset.name} that wait`;
  const stopRenewing = keepAlive(crawl, { what, renew });
  const isOver = () => Promise.resolve(true);
  try {
    await readLeases({ context: crawl, stop, planner, priority, take, isOver });
  } finally {
    stopRenewing();
    for (const lease of waiting) await releaseLease(crawl.database, lease).catch(() => undefined);
  }
}
