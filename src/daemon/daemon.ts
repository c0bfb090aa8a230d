import type { Config } from '../config.ts';
import type { ChainInfo } from '../crawl/watermark/chain-info.ts';
import { readOrRefuse, runWorkerPool } from '../crawl/streams/worker-pool.ts';
import type { CrawlContext } from '../crawl/crawl-context.ts';
import { splitAtArchive, type Planner, type Want } from '../crawl/streams/planner.ts';
import { loadJobs } from '../dataset/load-jobs.ts';
import { floorsOf, prune } from '../db/coverage/expire.ts';
import { firstReadings, secondReadings } from '../crawl/streams/streams.ts';
import { untold, type Watermark } from '../crawl/watermark/watermark.ts';
import type { Collection, Dataset } from '../dataset/dataset.ts';
import { keepWanted, readWanted } from '../db/coverage/wanted.ts';
import { toError } from '../errors.ts';
import { parseTime } from '../range.ts';
import { untilAborted, type Stop } from '../stop.ts';
import { patiently } from '../patience.ts';
import { followedDatasets } from '../status/readiness.ts';
import { createGuard } from './verify-loop.ts';
import { createLookout } from './watermark-leader.ts';
import { refresh } from './collections-loop.ts';
import { runSchedules } from './schedules.ts';
import { createSentry } from './deletion-watch.ts';

/** The tail takes at most this part of the budget, so that a backfill advances at any plan. */
const TAIL_SHARE = 0.5;
/** Requests of a watermark, with which each round of the tail begins. */
const WATERMARK_REQUESTS = 2;
const BACKFILL_WORKERS = 3;
/** Milliseconds between two looks for a new hole, or for what has matured. */
const IDLE_MS = 2000;
/** Milliseconds between two rounds of retention. */
const RETENTION_MS = 3_600_000;
/** Milliseconds between two looks for rows that were deleted. */
const DELETIONS_MS = 1000;
/** One bad range, or an endpoint that this server does not have, must not keep the rest from being read. */
const ON_WRONG_ANSWER = 'set aside';

interface DaemonOptions {
  /** Name of this process. */
  readonly owner: string;
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  readonly datasets: readonly Dataset[];
  /** Datasets that are no streams of time, read beside them with what they leave of the budget. */
  readonly collections?: readonly Collection[];
  /** Collections whose records come with the answers of others, chosen or not. */
  readonly carried?: readonly Collection[];
  readonly config: Config;
  readonly stop: Stop;
}

/** How far the chain is known, and from when on each dataset is wanted. */
interface Position {
  watermark: Watermark;
  since: ReadonlyMap<string, number>;
}

/**
 * Keeps the datasets complete from `wanted` to the watermark until told to stop: the tail in rounds, everything older
 * beside it. An API or a database that is away is waited for; only what a person must change ends it.
 */
export async function runDaemon(options: DaemonOptions): Promise<void> {
  const look = watermarkLook(options);
  const position = await waitFor(options, 'the watermark', async () => {
    const watermark = await look();
    // "From the head on" would be from the first block on.
    if (watermark.utime === 0) throw untold(watermark);
    return { watermark, since: await decideWanted(options, watermark) };
  });
  if (position === undefined) return;
  const halves = haltTogether(options);
  const always = followedDatasets(options.datasets, options.config.schedules);
  const ends = await Promise.allSettled([
    halves.run((own) => followTail({ ...own, datasets: always }, position, look)),
    halves.run((own) => fillHistory({ ...own, datasets: always }, position)),
    halves.run((own) => followSchedules(own, position)),
    halves.run((own) => verifyBehind(own, position)),
    halves.run(watchDeletions),
    halves.run((own) => keepRetention(own, position)),
    halves.run((own) => refreshBehind(own, position)),
  ]);
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** Where one half of the daemon fails, the other finishes its pages too: nothing works on while the process ends. */
function haltTogether(options: DaemonOptions) {
  const { finishing, leaving } = options.stop;
  const halt = new AbortController();
  const end = () => halt.abort();
  if (finishing.aborted) end();
  finishing.addEventListener('abort', end, { once: true });
  const own = { ...options, stop: { finishing: halt.signal, leaving } };
  return { run: (half: (own: DaemonOptions) => Promise<void>) => half(own).finally(end) };
}

function waitFor<T>(
  { context, stop }: DaemonOptions,
  what: string,
  task: () => Promise<T>,
): Promise<T | undefined> {
  return patiently({ ...context, signal: stop.finishing }, what, task);
}

function watermarkLook(options: DaemonOptions): () => Promise<Watermark> {
  const { stop } = options;
  const lookout = createLookout({ ...options, patience: (2.5 * periodOf(options)) / 1000 });
  return () => lookout(stop.leaving);
}

async function decideWanted(
  { context, chain, datasets, collections = [], config }: DaemonOptions,
  watermark: Watermark,
) {
  const now = Math.floor(context.clock.now() / 1000);
  const words: Readonly<Record<string, number>> = {
    head: watermark.utime - config.watermarkDelay,
    first: chain.first.utime,
  };
  const since = Math.max(chain.first.utime, words[config.since] ?? parseTime(config.since, now));
  for (const { name } of [...datasets, ...collections])
    await keepWanted(context.database, name, since, config.since);
  return readWanted(context.database);
}

/** Reads what is new, dataset by dataset at once; one that is still catching up is not disturbed. */
async function followTail(
  options: DaemonOptions,
  position: Position,
  look: () => Promise<Watermark>,
): Promise<void> {
  const { context, datasets, stop } = options;
  const running = new Map<string, Promise<void>>();
  const failures: Error[] = [];
  while (!stop.finishing.aborted && failures.length === 0) {
    position.watermark = (await waitFor(options, 'the watermark', look)) ?? position.watermark;
    for (const dataset of datasets.filter(({ name }) => !running.has(name))) {
      const reading = waitFor(options, dataset.name, () => readTail(options, dataset, position))
        .catch((error: unknown) => {
          failures.push(toError(error));
        })
        .finally(() => running.delete(dataset.name));
      running.set(
        dataset.name,
        reading.then(() => undefined),
      );
    }
    await context.clock.sleep(periodOf(options), stop.finishing).catch(() => undefined);
  }
  await Promise.all(running.values());
  const [failure] = failures;
  if (failure !== undefined) throw failure;
}

async function readTail(options: DaemonOptions, dataset: Dataset, position: Position): Promise<void> {
  const { context, planner, stop } = options;
  while (!stop.finishing.aborted) {
    const assignment = await planner.take(
      await wantsOf({ ...options, datasets: [dataset] }, position, 'tail'),
    );
    if (assignment === undefined) return;
    await readOrRefuse(context, assignment, stop, ON_WRONG_ANSWER);
  }
}

async function fillHistory(options: DaemonOptions, position: Position): Promise<void> {
  const { planner } = options;
  await waitFor(options, 'the backfill', () =>
    runWorkerPool({
      ...options,
      workers: BACKFILL_WORKERS,
      idleMs: IDLE_MS,
      onWrongAnswer: ON_WRONG_ANSWER,
      isOver: () => Promise.resolve(false),
      take: async () => planner.take(await wantsOf(options, position, 'backfill')),
    }),
  );
}

/** Proves what was read, stretch by stretch, and repairs what it finds before history goes on. */
async function verifyBehind(options: DaemonOptions, position: Position): Promise<void> {
  const { context, stop } = options;
  const guard = await createGuard({ ...options, watermark: () => position.watermark.utime });
  const stopped = () => stop.finishing.aborted;
  while (!stopped()) {
    await context.clock.sleep(guard.periodMs, stop.finishing).catch(() => undefined);
    if (!stopped()) await waitFor(options, 'verification', () => guard.round());
  }
}

function followSchedules(options: DaemonOptions, position: Position): Promise<void> {
  const { schedules, watermarkDelay } = options.config;
  const watermark = () => position.watermark.utime;
  return runSchedules({ ...options, schedules, delay: watermarkDelay, watermark });
}

/** Drops what is not kept any more, every hour. */
async function keepRetention(options: DaemonOptions, position: Position): Promise<void> {
  const { context, config, stop } = options;
  const { database, clock, logger } = context;
  if (config.retention.size === 0) return untilAborted(stop.finishing);
  const jobs = await loadJobs();
  const round = async () => {
    const kept = floorsOf(config.retention, jobs, Math.floor(clock.now() / 1000), config.partition);
    const { dropped, left } = await prune(database, kept, clock);
    position.since = await readWanted(database);
    for (const { name, rows, bytes } of dropped)
      logger.info({ partition: name, rows, bytes }, 'partition dropped: its time has expired');
    for (const { name } of left)
      logger.warn(
        { partition: name },
        'partition not dropped: somebody reads its table for long; look at pg_stat_activity',
      );
  };
  while (!stop.finishing.aborted) {
    await waitFor(options, 'retention', round);
    await clock.sleep(RETENTION_MS, stop.finishing).catch(() => undefined);
  }
}

/** Rows that somebody deletes are a hole within seconds, and then read again as any other. */
async function watchDeletions(options: DaemonOptions): Promise<void> {
  const { context, stop } = options;
  const sentry = await createSentry(options);
  while (!stop.finishing.aborted) {
    await waitFor(options, 'the watch for deletions', () => sentry.look());
    await context.clock.sleep(DELETIONS_MS, stop.finishing).catch(() => undefined);
  }
}

/** Reads what is no stream of time: lists, look-ups, histories of accounts. */
function refreshBehind(options: DaemonOptions, position: Position): Promise<void> {
  const rangeOf = (name: string) => {
    const to = position.watermark.utime - options.config.watermarkDelay;
    const from = position.since.get(name) ?? to;
    return from < to ? { from, to } : undefined;
  };
  const wait = (what: string, task: () => Promise<void>) => waitFor(options, what, task);
  const { collections = [], carried = [] } = options;
  return refresh({ ...options, collections, carried, rangeOf, wait });
}

/** The tail is what the servers answer from live data, history what they answer from their archive. */
async function wantsOf(
  options: DaemonOptions,
  position: Position,
  priority: 'tail' | 'backfill',
): Promise<Want[]> {
  const { context, datasets, config } = options;
  const { utime } = position.watermark;
  const wants: Want[] = [];
  for (const dataset of datasets) {
    const to = utime - (dataset.job.delaySeconds ?? config.watermarkDelay);
    const range = { from: position.since.get(dataset.name) ?? to, to };
    if (range.from >= range.to) continue;
    const [live, archived] = splitAtArchive(range, utime);
    const zone = priority === 'tail' ? live : archived;
    if (zone !== undefined)
      wants.push(...(await firstReadings(context.database, [dataset], zone, utime, priority)));
    if (priority === 'backfill')
      wants.push(...(await secondReadings(context.database, [dataset], range, utime)));
  }
  return wants;
}

/** Milliseconds between rounds: well within the freshness wanted, longer where that would cost more than its share. */
function periodOf({ config, datasets }: DaemonOptions): number {
  const round = (datasets.length + WATERMARK_REQUESTS) / (config.rps * TAIL_SHARE);
  return 1000 * Math.max(config.freshness / 5, round);
}
