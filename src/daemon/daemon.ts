import { Cron } from 'croner';
import { watermarkNotKnown, type Watermark } from '../crawl/watermark/watermark.ts';
import { keepWanted, readWanted } from '../ledger/stored-coverage.ts';
import { formatRange, HOUR, lengthOf, parseTime } from '../range.ts';
import { createOutageLog, unixSeconds, createInterruptibleSleep, type Clock } from '../clock.ts';
import { followedDatasets } from '../status/readiness.ts';
import { collectionLoops } from './collections-loop.ts';
import { runRounds, waitFor, type DaemonContext, type ChainPosition } from './daemon-context.ts';
import { runLakeLoop } from './lake-loop.ts';
import { prune } from '../write/take-out.ts';
import { retentionFloors } from '../lake/retention-floors.ts';
import { runVerifyLoop } from './verify-loop.ts';
import { createWatermarkLeader, type WatermarkLeader } from './watermark-leader.ts';
import {
  longestPollSeconds,
  createHeadWatch,
  pauseSeconds,
  tailPeriodSeconds,
  delayOf,
} from '../crawl/tail-pace.ts';
import { crawlLease, readLeases, fillRange } from '../crawl/streams/read-leases.ts';
import { splitAtArchive, type Want, firstReadings, secondReadings } from '../crawl/streams/planner.ts';
import { type Dataset, chooseDatasets } from '../dataset/dataset.ts';
import { toError, isAbort, messageOf } from '../errors.ts';
import type { Schedule } from '../settings/schedule.ts';
import { untilAborted } from '../stop.ts';

/** After this many missed polls of the leading process, another one leads. */
const LEADER_POLLS = 2.5;

/**
 * Keeps the datasets complete from `wanted` to the watermark until stopped. The tail is read in rounds, and
 * everything older in parallel. The daemon waits for an API or a database that is down. Only an error that a
 * person must fix ends it.
 */
export async function runDaemon(given: DaemonContext): Promise<void> {
  const { logger, clock } = given.context;
  const outage = createOutageLog(logger, clock);
  const daemon = { ...given, outage };
  const leader = createWatermarkLeader({
    ...daemon,
    absentSeconds: LEADER_POLLS * longestPollSeconds(daemon.config),
    delaySeconds: daemon.config.watermarkDelaySeconds,
  });
  const position = await findPosition(daemon, leader);
  if (position === undefined) return;
  const loops = stopTogether(daemon);
  const followed = followedDatasets(daemon.datasets, daemon.config.schedules);
  const ends = await Promise.allSettled([
    loops.run((own) => runTailLoop({ ...own, datasets: followed }, position, leader)),
    loops.run((own) => runHistoryLoop({ ...own, datasets: followed }, position)),
    loops.run((own) => runSchedules(own, position)),
    loops.run((own) => runVerifyLoop(own, position)),
    loops.run((own) => runLakeLoop(own)),
    loops.run((own) => runRetentionLoop(own, position)),
    ...collectionLoops(loops.own, position).map((loop) => loops.run(loop)),
  ]);
  const failure = ends.find((end) => end.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
}

/** If one loop of the daemon fails, the others finish their pages and end, too. */
function stopTogether(daemon: DaemonContext) {
  const { finishing, leaving } = daemon.stop;
  const stopping = new AbortController();
  const end = () => stopping.abort();
  if (finishing.aborted) end();
  finishing.addEventListener('abort', end, { once: true });
  const own = { ...daemon, stop: { finishing: stopping.signal, leaving } };
  return { own, run: (loop: (own: DaemonContext) => Promise<void>) => loop(own).finally(end) };
}

function findPosition(daemon: DaemonContext, leader: WatermarkLeader): Promise<ChainPosition | undefined> {
  return waitFor(daemon, 'the watermark', async () => {
    const watermark = await leader.poll(daemon.stop.leaving);
    // With a watermark of 0, "from the head on" would mean from the first block on.
    if (watermark.utime === 0) throw watermarkNotKnown(watermark);
    return { watermark, since: await decideWanted(daemon, watermark) };
  });
}

async function decideWanted(
  { context, chain, datasets, collections = [], config }: DaemonContext,
  watermark: Watermark,
) {
  const now = unixSeconds(context.clock);
  const chosen = config.since ?? 'head';
  const words: Readonly<Record<string, number>> = {
    head: watermark.newest - config.watermarkDelaySeconds,
    first: chain.first.utime,
  };
  const since = Math.max(chain.first.utime, words[chosen] ?? parseTime(chosen, now));
  for (const { name } of [...datasets, ...collections])
    await keepWanted(context.database, name, { since, chosen, isDefault: config.since === undefined });
  return readWanted(context.database);
}

const POLL = 'the watermark';

/**
 * Reads what is new as soon as it may be read, all datasets in parallel. A dataset that is still catching up
 * is not disturbed. The head is polled in parallel, so that neither waits for the other's requests.
 */
async function runTailLoop(
  options: DaemonContext,
  position: ChainPosition,
  leader: WatermarkLeader,
): Promise<void> {
  const { context, config, datasets, stop } = options;
  const { clock } = context;
  const tasks = createTasks(clock, stop.finishing);
  const watch = createHeadWatch(config);
  let pollAt = 0;
  const poll = async () => {
    const began = clock.monotonic();
    const found = await waitFor(options, POLL, () => leader.poll(stop.leaving));
    position.watermark = found ?? position.watermark;
    pollAt = began + 1000 * watch.pauseAfter(position.watermark.head, began / 1000);
  };
  const rounds = createRounds(options, position, watch.interval);
  const idle = () => datasets.filter(({ name }) => !tasks.has(name));
  while (!stop.finishing.aborted && !tasks.hasFailed) {
    position.watermark = leader.release() ?? position.watermark;
    const now = clock.monotonic();
    if (!tasks.has(POLL) && now >= pollAt) tasks.start(POLL, poll);
    for (const dataset of idle().filter((each) => now >= rounds.dueAt(each)))
      tasks.start(dataset.name, () => rounds.read(dataset));
    const nextPoll = tasks.has(POLL) ? Infinity : pollAt;
    await tasks.sleepUntil(
      Math.min(nextPoll, position.watermark.dueMs ?? Infinity, ...idle().map(rounds.dueAt)),
    );
  }
  await tasks.end();
}

/** The last round of a dataset. */
interface TailRound {
  /** Milliseconds of the monotonic clock. */
  readonly began: number;
  readonly to: number;
  /** Additional seconds that the dataset pauses. */
  readonly pause: number;
}

/** Reads datasets, and computes when the next round of each is due, in milliseconds of the monotonic clock. */
function createRounds(options: DaemonContext, position: ChainPosition, interval: () => number | undefined) {
  const { config, datasets } = options;
  const { clock } = options.context;
  const last = new Map<string, TailRound>();
  return {
    dueAt: (dataset: Dataset): number => {
      const round = last.get(dataset.name);
      if (round === undefined) return 0;
      const period = tailPeriodSeconds(datasets, config, interval());
      const isNew = readableTo(dataset, position.watermark) > round.to;
      // Even if nothing is new, released or deleted ranges may be missing below.
      return round.began + 1000 * Math.max(round.pause, period, isNew ? 0 : config.freshnessSeconds);
    },
    read: async (dataset: Dataset): Promise<void> => {
      const began = clock.monotonic();
      const to = readableTo(dataset, position.watermark);
      const streams = await waitFor(options, dataset.name, (context) =>
        readTail({ ...options, context }, dataset, position),
      );
      const pause = pauseSeconds(dataset, streams ?? 1, datasets, config);
      last.set(dataset.name, { began, to, pause });
    },
  };
}

/** Reads what a dataset lacks now. Returns the number of its streams: one for each pool if it is read pool by pool. */
async function readTail(options: DaemonContext, dataset: Dataset, position: ChainPosition): Promise<number> {
  const { context, planner, stop } = options;
  // Ranges that become readable meanwhile are left to the next round: otherwise a dataset of many pools would
  // never end.
  const wants = await wantsOf({ ...options, datasets: [dataset] }, position, 'tail');
  while (!stop.finishing.aborted) {
    const assignment = await planner.take(wants);
    if (assignment === undefined) break;
    await crawlLease(context, assignment, { stop });
  }
  return wants.length;
}

/** How far a dataset may be read: up to what every replica shows, or its own delay below the watermark. */
function readableTo({ job: { delaySeconds } }: Dataset, { utime, everywhere }: Watermark): number {
  return delaySeconds === undefined ? everywhere : utime - delaySeconds;
}

/** The tail is the part that servers answer from live data; history is the part from their archive. */
async function wantsOf(
  options: DaemonContext,
  position: ChainPosition,
  priority: 'tail' | 'backfill',
): Promise<Want[]> {
  const { context, datasets } = options;
  const { utime } = position.watermark;
  const wants: Want[] = [];
  for (const dataset of datasets) {
    const to = readableTo(dataset, position.watermark);
    const range = { from: position.since.get(dataset.name) ?? to, to };
    if (range.from >= range.to || context.api.lacks(dataset.job.path)) continue;
    const [live, archived] = splitAtArchive(range, utime);
    const zone = priority === 'tail' ? live : archived;
    if (zone !== undefined)
      wants.push(
        ...(await firstReadings(context.database, [dataset], { range: zone, watermark: utime, priority })),
      );
    if (priority === 'backfill')
      wants.push(...(await secondReadings(context.database, [dataset], range, utime)));
  }
  return wants;
}

/** The longest sleep. Events wake the sleeper earlier, and timers are limited to some weeks. */
const LONGEST_SLEEP_MS = 60_000;

/** The running tasks of a loop, by name, and its sleep meanwhile. */
function createTasks(clock: Clock, signal: AbortSignal) {
  const pause = createInterruptibleSleep(clock);
  const running = new Map<string, Promise<void>>();
  const failures: Error[] = [];
  signal.addEventListener('abort', () => pause.end(), { once: true });
  return {
    has: (name: string) => running.has(name),
    start: (name: string, task: () => Promise<void>) => {
      const ending = task()
        .catch((error: unknown) => {
          failures.push(toError(error));
        })
        .finally(() => {
          running.delete(name);
          pause.end();
        });
      running.set(name, ending);
    },
    /** True if a task has failed. */
    get hasFailed() {
      return failures.length > 0;
    },
    /** Sleeps until a time of the monotonic clock. Ends early when a task ends or the signal is aborted. */
    sleepUntil: (at: number) => pause.sleep(Math.min(LONGEST_SLEEP_MS, Math.max(0, at - clock.monotonic()))),
    /** Resolves when all tasks have ended. Rejects with the error of the first failed task. */
    end: async () => {
      await Promise.all(running.values());
      const [failure] = failures;
      if (failure !== undefined) throw failure;
    },
  };
}

/** Milliseconds between two searches for new holes or matured rows. */
const IDLE_MS = 2000;

/** Reads everything older than the tail, and holes anywhere. */
async function runHistoryLoop(options: DaemonContext, position: ChainPosition): Promise<void> {
  const { planner } = options;
  await waitFor(options, 'the backfill', (context, onAnswer) =>
    readLeases({
      ...options,
      context,
      priority: 'backfill',
      idleMs: IDLE_MS,
      isOver: () => Promise.resolve(false),
      take: async (readers) => {
        const taken = await planner.takeSome(await wantsOf(options, position, 'backfill'), readers);
        // There is nothing to read, so no page will report that the API is back.
        if (taken.length === 0) onAnswer();
        return taken;
      },
    }),
  );
}

/** Attempts while the API or the database is down. After that, the run fails and waits for its next time. */
const ATTEMPTS = 10;

/**
 * Runs the schedules until stopped. If a run has not finished at its next time, it continues, and no second one starts.
 */
export async function runSchedules(daemon: DaemonContext, position: ChainPosition): Promise<void> {
  const { config, stop } = daemon;
  if (stop.finishing.aborted) return;
  const under = new Set<Promise<void>>();
  const crons = config.schedules.map(
    (schedule) =>
      new Cron(schedule.cron, { timezone: 'UTC', protect: true, unref: true }, () => {
        const run = runOnce(daemon, position, schedule);
        under.add(run);
        return run.finally(() => under.delete(run));
      }),
  );
  await untilAborted(stop.finishing);
  for (const cron of crons) cron.stop();
  await Promise.all(under);
}

/**
 * Runs a schedule once, all its datasets in parallel: none waits for the end of another, or for an endpoint that is
 * down. Errors are logged, and the next run tries again. A run costs nothing if its range is covered.
 */
export async function runOnce(
  daemon: DaemonContext,
  position: ChainPosition,
  schedule: Schedule,
): Promise<void> {
  const { context, datasets, stop } = daemon;
  const chosen = chooseDatasets(schedule.only ?? datasets.map(({ name }) => name), datasets);
  const cover = (dataset: Dataset) =>
    coverOne(daemon, position, schedule, dataset).catch((error: unknown) => {
      if (isAbort(error) || stop.finishing.aborted) return;
      context.logger.error(
        { dataset: dataset.name, schedule: schedule.cron, reason: messageOf(error) },
        'scheduled run failed, retrying at its next time; status shows the last errors',
      );
    });
  await Promise.all(chosen.map(cover));
}

async function coverOne(
  daemon: DaemonContext,
  position: ChainPosition,
  schedule: Schedule,
  dataset: Dataset,
): Promise<void> {
  const { context, planner, chain, stop, config } = daemon;
  const now = unixSeconds(context.clock);
  const watermark = position.watermark.utime;
  const safe = watermark - delayOf(dataset, config.watermarkDelaySeconds);
  const since = (await readWanted(context.database)).get(dataset.name) ?? safe;
  const wanted =
    schedule.range === undefined
      ? { from: since, to: safe }
      : { from: parseTime(schedule.range.from, now), to: parseTime(schedule.range.to, now) };
  const range = { from: Math.max(wanted.from, chain.first.utime), to: Math.min(wanted.to, safe) };
  if (range.from >= range.to) return;
  const missing = await fillRange({
    context,
    planner,
    stop,
    attempts: ATTEMPTS,
    again: true,
    datasets: [dataset],
    readable: { range, watermark },
  });
  const left = lengthOf([...missing.values()].flat());
  context.logger.info(
    { dataset: dataset.name, range: formatRange(range), seconds: left, schedule: schedule.cron },
    left === 0 ? 'scheduled range is covered' : 'scheduled range is not fully covered',
  );
}

/** Milliseconds between two rounds. */
const RETENTION_PERIOD_MS = 1000 * HOUR;

/** Drops expired partitions every hour. */
export async function runRetentionLoop(options: DaemonContext, position: ChainPosition): Promise<void> {
  const { context, config, stop } = options;
  const { database, clock, logger } = context;
  if (config.retention.seconds.size === 0) return untilAborted(stop.finishing);
  const round = async () => {
    const { kept, unproved } = await retentionFloors(config, database, unixSeconds(clock), stop.leaving);
    for (const { name, why } of unproved)
      logger.warn({ partition: name, reason: why }, 'partition not dropped: not proved to be in the lake');
    const { dropped, left } = await prune(database, kept, context);
    position.since = await readWanted(database);
    for (const { name, rows, bytes } of dropped)
      logger.info({ partition: name, rows, bytes }, 'partition dropped: retention expired');
    for (const { name } of left)
      logger.warn(
        { partition: name },
        'partition not dropped: a session has been reading its table for a long time, or has just written to it; look at pg_stat_activity',
      );
  };
  await runRounds(options, { what: 'retention', periodMs: RETENTION_PERIOD_MS }, round);
}
