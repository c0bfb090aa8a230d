import { createInterruptibleSleep, type Clock } from '../clock.ts';
import { crawlLease, readLeases } from '../crawl/streams/read-leases.ts';
import { splitAtArchive, type Want, firstReadings, secondReadings } from '../crawl/streams/planner.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { createHeadWatch, pauseSeconds, tailPeriodSeconds } from '../dataset/tail-pace.ts';
import { toError } from '../errors.ts';
import { type ChainPosition, type DaemonContext, waitFor } from './daemon-context.ts';
import type { WatermarkLeader } from './watermark-leader.ts';

const POLL = 'the watermark';

/**
 * Reads what is new as soon as it may be read, all datasets in parallel. A dataset that is still catching up
 * is not disturbed. The head is polled in parallel, so that neither waits for the other's requests.
 */
export async function runTailLoop(
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
interface Round {
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
  const last = new Map<string, Round>();
  return {
    dueAt: (dataset: Dataset): number => {
      const round = last.get(dataset.name);
      if (round === undefined) return 0;
      const period = tailPeriodSeconds(datasets, config, interval());
      const isNew = readableTo(dataset, position.watermark) > round.to;
      // Even if nothing is new, released or deleted ranges may be missing below.
      return round.began + 1000 * Math.max(round.pause, period, isNew ? 0 : config.freshness);
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
interface Tasks {
  has(name: string): boolean;
  start(name: string, task: () => Promise<void>): void;
  /** True if a task has failed. */
  readonly hasFailed: boolean;
  /**
   * Sleeps until a time of the monotonic clock, in milliseconds. Ends early when a task ends or the signal is aborted.
   */
  sleepUntil(at: number): Promise<void>;
  /** Resolves when all tasks have ended. Rejects with the error of the first failed task. */
  end(): Promise<void>;
}

function createTasks(clock: Clock, signal: AbortSignal): Tasks {
  const pause = createInterruptibleSleep(clock);
  const running = new Map<string, Promise<void>>();
  const failures: Error[] = [];
  signal.addEventListener('abort', () => pause.end(), { once: true });
  return {
    has: (name) => running.has(name),
    start: (name, task) => {
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
    get hasFailed() {
      return failures.length > 0;
    },
    sleepUntil: (at) => pause.sleep(Math.min(LONGEST_SLEEP_MS, Math.max(0, at - clock.monotonic()))),
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
export async function runHistoryLoop(options: DaemonContext, position: ChainPosition): Promise<void> {
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
