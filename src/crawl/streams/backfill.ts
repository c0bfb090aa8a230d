import type { Dataset } from '../../dataset/dataset.ts';
import { readMissing } from '../../db/coverage/coverage.ts';
import type { Range } from '../../range.ts';
import { isLeased } from '../../db/coordination/leases.ts';
import { OUTAGE, outlast, retry } from '../../retry.ts';
import type { Stop } from '../../stop.ts';
import type { ChainInfo } from '../watermark/chain-info.ts';
import { runWorkerPool } from './worker-pool.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { Planner, Want } from './planner.ts';
import { firstReadings, readableNow, secondReadings, streamsOf } from './streams.ts';
import { openWatermarkReader } from '../watermark/open-watermark-reader.ts';
import { watermarkNotKnown } from '../watermark/watermark.ts';

/** Beyond this age of its end, the index has held a range for so long that no block of it can still appear. */
const SETTLED_AGE = 6 * 3600;

/** How far a range can be read now. */
export interface Reach {
  /** What of the range lies between the first block of the index and the watermark; undefined where nothing does. */
  readonly range: Range | undefined;
  readonly watermark: number;
}

/** Cuts a range to what the index holds and to what is safe to read; a range that ended long ago does not wait. */
export async function reachOf(
  { context, chain }: { readonly context: CrawlContext; readonly chain: ChainInfo },
  wanted: Range,
  delaySeconds: number,
  signal: AbortSignal,
): Promise<Reach> {
  const from = Math.max(wanted.from, chain.first.utime);
  const settled = wanted.to <= chain.last.utime - SETTLED_AGE;
  const watermark = settled ? chain.last.utime : await readWatermark(context, chain, delaySeconds, signal);
  const to = settled ? wanted.to : Math.min(wanted.to, watermark - delaySeconds);
  return { range: from < to ? { from, to } : undefined, watermark };
}

/** Tried again for a while: just then a block may be on its way, or the server asked may lag behind the others. */
async function readWatermark(
  context: CrawlContext,
  chain: ChainInfo,
  delay: number,
  signal: AbortSignal,
): Promise<number> {
  const reader = await openWatermarkReader(context, chain, delay);
  return retry({ ...context, ...OUTAGE, signal }, async () => {
    const watermark = await reader.read(signal);
    if (watermark.utime === 0) throw watermarkNotKnown(watermark);
    return watermark.utime;
  });
}

export interface BackfillOptions {
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly datasets: readonly Dataset[];
  readonly reach: Reach;
  readonly workers: number;
  readonly stop: Stop;
  /** How often the work is taken up while the API or the database is away; default once. */
  readonly attempts?: number;
  /** True: what has matured since its first reading is read a second time. */
  readonly again?: boolean;
  /** Covers what other datasets have brought of this one; so it is read last, and only what is left of it. */
  readonly derived?: { readonly dataset: string; readonly derive: (range: Range) => Promise<unknown> };
}

/** Covers a range once; the ranges that are still missing afterwards, by dataset. */
export async function backfill(options: BackfillOptions): Promise<ReadonlyMap<string, readonly Range[]>> {
  const { context, datasets, derived, reach, stop } = options;
  const { range, watermark } = reach;
  if (range === undefined) return new Map();
  const { attempts = 1 } = options;
  await outlast({ ...context, attempts, signal: stop.finishing }, 'the backfill', async () => {
    const others = datasets.filter(({ name }) => name !== derived?.dataset);
    if (others.length < datasets.length) {
      await coverOnce({ ...options, datasets: others }, range);
      if (!stop.finishing.aborted) await derived?.derive(range);
    }
    await coverOnce(options, range);
  });
  return missingOf(context, datasets, range, watermark);
}

async function coverOnce(options: BackfillOptions, range: Range): Promise<void> {
  if (options.datasets.length === 0) return;
  // Looked up for each lease, because the pools of one dataset are found in what another has brought.
  const take = async () => options.planner.take(await wantsOf(options, range));
  const names = options.datasets.map(({ name }) => name);
  // Another worker's lease may end with its range unread: somebody has to be there then.
  const isOver = async () => !(await isLeased(options.context.database, names, range));
  await runWorkerPool({ ...options, isOver, take });
}

async function wantsOf({ context, datasets, reach, again }: BackfillOptions, range: Range): Promise<Want[]> {
  const first = await firstReadings(context.database, datasets, {
    range,
    watermark: reach.watermark,
    priority: 'backfill',
  });
  if (again !== true) return first;
  return [...first, ...(await secondReadings(context.database, datasets, range, reach.watermark))];
}

/** Ranges of each dataset that could be read and are not covered, also those that were set aside. */
export async function missingOf(
  { database }: Pick<CrawlContext, 'database'>,
  datasets: readonly Dataset[],
  range: Range,
  watermark: number,
): Promise<ReadonlyMap<string, readonly Range[]>> {
  const missing = new Map<string, readonly Range[]>();
  for (const [dataset, part] of await readableNow(database, datasets, range, watermark)) {
    const ranges: Range[] = [];
    for (const stream of await streamsOf(database, dataset))
      ranges.push(...(await readMissing(database, stream, [part])));
    if (ranges.length > 0) missing.set(dataset.name, ranges);
  }
  return missing;
}
