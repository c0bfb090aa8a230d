import { readOrRefuse } from '../crawl/streams/read-leases.ts';
import type { Watermark } from '../crawl/watermark/watermark.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { toError } from '../errors.ts';
import { waitFor, type DaemonContext, type Position } from './daemon-context.ts';
import { wantsOf } from './wants.ts';

/** The tail takes at most this part of the budget, so that a backfill advances at any plan. */
const TAIL_SHARE = 0.5;
/** Requests of a watermark, with which each round of the tail begins. */
const WATERMARK_REQUESTS = 2;
/** One bad range, or an endpoint that this server does not have, must not keep the rest from being read. */
const ON_WRONG_RESPONSE = 'refuse';

/** Reads what is new, dataset by dataset at once; one that is still catching up is not disturbed. */
export async function runTailLoop(
  options: DaemonContext,
  position: Position,
  pollWatermark: () => Promise<Watermark>,
): Promise<void> {
  const { context, datasets, stop } = options;
  const running = new Map<string, Promise<void>>();
  const failures: Error[] = [];
  while (!stop.finishing.aborted && failures.length === 0) {
    position.watermark = (await waitFor(options, 'the watermark', pollWatermark)) ?? position.watermark;
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
    await context.clock.sleep(tailPeriodMs(options), stop.finishing).catch(() => undefined);
  }
  await Promise.all(running.values());
  const [failure] = failures;
  if (failure !== undefined) throw failure;
}

async function readTail(options: DaemonContext, dataset: Dataset, position: Position): Promise<void> {
  const { context, planner, stop } = options;
  while (!stop.finishing.aborted) {
    const assignment = await planner.take(
      await wantsOf({ ...options, datasets: [dataset] }, position, 'tail'),
    );
    if (assignment === undefined) return;
    await readOrRefuse(context, assignment, stop, ON_WRONG_RESPONSE);
  }
}

/** Milliseconds between rounds: well within the freshness wanted, longer where that would cost more than its share. */
export function tailPeriodMs({ config, datasets }: DaemonContext): number {
  const round = (datasets.length + WATERMARK_REQUESTS) / (config.rps * TAIL_SHARE);
  return 1000 * Math.max(config.freshness / 5, round);
}
