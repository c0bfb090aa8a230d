import { readOrRefuse } from '../crawl/streams/read-leases.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { roundSeconds, WATERMARK_REQUESTS } from '../dataset/pace.ts';
import { toError } from '../errors.ts';
import { waitFor, type DaemonContext, type ChainPosition } from './daemon-context.ts';
import { wantsOf } from './wants.ts';

/** The rounds of the tail take at most this part of the budget, so that a backfill advances at any plan. */
const ROUNDS_SHARE = 0.4;
/** What is asked less often than every round takes at most this part beside them. */
const SLOW_SHARE = 0.1;

/** Milliseconds between two rounds at least, where what was held back may be read. */
const LEAST_PERIOD_MS = 1000;

/** Reads what is new, dataset by dataset at once; one that is still catching up is not disturbed. */
export async function runTailLoop(
  options: DaemonContext,
  position: ChainPosition,
  pollWatermark: () => Promise<Watermark>,
): Promise<void> {
  const { context, datasets, stop } = options;
  const { clock } = context;
  const running = new Map<string, Promise<void>>();
  const dueAt = new Map<string, number>();
  const isDue = ({ name }: Dataset) => !running.has(name) && clock.monotonic() >= (dueAt.get(name) ?? 0);
  const failures: Error[] = [];
  while (!stop.finishing.aborted && failures.length === 0) {
    position.watermark = (await waitFor(options, 'the watermark', pollWatermark)) ?? position.watermark;
    for (const dataset of datasets.filter(isDue)) {
      const began = clock.monotonic();
      const reading = waitFor(options, dataset.name, () => readTail(options, dataset, position))
        .then((streams = 1) => {
          dueAt.set(dataset.name, began + pauseMs(options, dataset, streams));
        })
        .catch((error: unknown) => {
          failures.push(toError(error));
        })
        .finally(() => running.delete(dataset.name));
      running.set(dataset.name, reading);
    }
    const untilDueMs = (position.watermark.dueMs ?? Infinity) - clock.monotonic();
    const untilNextMs = Math.min(tailPeriodMs(options), Math.max(LEAST_PERIOD_MS, untilDueMs));
    await clock.sleep(untilNextMs, stop.finishing).catch(() => undefined);
  }
  await Promise.all(running.values());
  const [failure] = failures;
  if (failure !== undefined) throw failure;
}

/** Reads what a dataset lacks now; of how many streams it consists: one for each pool, where it is read pool by pool. */
async function readTail(options: DaemonContext, dataset: Dataset, position: ChainPosition): Promise<number> {
  const { context, planner, stop } = options;
  // What becomes readable meanwhile is the next round's: a dataset of many pools would never end.
  const wants = await wantsOf({ ...options, datasets: [dataset] }, position, 'tail');
  while (!stop.finishing.aborted) {
    const assignment = await planner.take(wants);
    if (assignment === undefined) break;
    await readOrRefuse(context, assignment, { stop });
  }
  return wants.length;
}

/** Milliseconds between two rounds: well within the freshness wanted, longer where that would cost more than its share. */
export function tailPeriodMs({ config, datasets }: DaemonContext): number {
  const often = datasets.filter(({ job }) => job.everySeconds === undefined);
  const affordable = (often.length + WATERMARK_REQUESTS) / (config.rps * ROUNDS_SHARE);
  return 1000 * Math.max(roundSeconds(config.freshness), affordable);
}

/** Milliseconds that a dataset pauses for beyond the rounds of the tail: as it says, longer where its streams cost too much. */
function pauseMs({ config, datasets }: DaemonContext, { job }: Dataset, streams: number): number {
  if (job.everySeconds === undefined) return 0;
  const slow = datasets.filter((other) => other.job.everySeconds !== undefined);
  const affordable = (streams * slow.length) / (config.rps * SLOW_SHARE);
  return 1000 * Math.max(job.everySeconds, affordable);
}
