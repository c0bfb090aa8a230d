import { crawlLease } from '../crawl/streams/crawl-lease.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { pauseSeconds, tailPeriodSeconds } from '../dataset/pace.ts';
import { waitFor, type DaemonContext, type ChainPosition } from './daemon-context.ts';
import { createHeadWatch } from './head-watch.ts';
import { createTasks } from './tasks.ts';
import { readableTo, wantsOf } from './wants.ts';
import type { WatermarkLeader } from './watermark-leader.ts';

const POLL = 'the watermark';

/**
 * Reads what is new, dataset by dataset at once, as soon as it may be read; one that is still catching up is not
 * disturbed. The head is polled beside them, so that neither waits for the other's requests.
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
  /** Seconds that the dataset pauses for on its own account. */
  readonly pause: number;
}

/** Reads datasets, and says when the next round of one is due, in milliseconds of the monotonic clock. */
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
      // Where nothing is new, what was given back or deleted may lie below.
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

/** Reads what a dataset lacks now; of how many streams it consists: one for each pool, where it is read pool by pool. */
async function readTail(options: DaemonContext, dataset: Dataset, position: ChainPosition): Promise<number> {
  const { context, planner, stop } = options;
  // What becomes readable meanwhile is the next round's: a dataset of many pools would never end.
  const wants = await wantsOf({ ...options, datasets: [dataset] }, position, 'tail');
  while (!stop.finishing.aborted) {
    const assignment = await planner.take(wants);
    if (assignment === undefined) break;
    await crawlLease(context, assignment, { stop });
  }
  return wants.length;
}
