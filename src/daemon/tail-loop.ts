import { crawlLease } from '../crawl/streams/crawl-lease.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { pauseSeconds, tailPeriodSeconds } from '../dataset/pace.ts';
import { toError } from '../errors.ts';
import { waitFor, type DaemonContext, type ChainPosition } from './daemon-context.ts';
import { wantsOf } from './wants.ts';

/** Milliseconds between two rounds at least, where what was held back may be read. */
const LEAST_PERIOD_MS = 1000;

/** Reads what is new, dataset by dataset at once; one that is still catching up is not disturbed. */
export async function runTailLoop(
  options: DaemonContext,
  position: ChainPosition,
  pollWatermark: () => Promise<Watermark>,
): Promise<void> {
  const { context, config, datasets, stop } = options;
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
          dueAt.set(dataset.name, began + 1000 * pauseSeconds(dataset, streams, datasets, config));
        })
        .catch((error: unknown) => {
          failures.push(toError(error));
        })
        .finally(() => running.delete(dataset.name));
      running.set(dataset.name, reading);
    }
    const untilDueMs = (position.watermark.dueMs ?? Infinity) - clock.monotonic();
    const untilNextMs = Math.min(
      1000 * tailPeriodSeconds(datasets, config),
      Math.max(LEAST_PERIOD_MS, untilDueMs),
    );
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
    await crawlLease(context, assignment, { stop });
  }
  return wants.length;
}
