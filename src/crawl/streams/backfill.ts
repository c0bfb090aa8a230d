import type { Dataset } from '../../dataset/dataset.ts';
import type { Range } from '../../range.ts';
import { isLeased } from '../../ledger/leases.ts';
import { outlast, outlastDatabase } from '../../retry.ts';
import type { Stop } from '../../stop.ts';
import { readLeases } from './read-leases.ts';
import { alsoOnPage, type CrawlContext } from '../crawl-context.ts';
import { missingOf } from './missing.ts';
import type { Planner, Want } from './planner.ts';
import type { ReadablePart } from './readable-part.ts';
import { firstReadings, secondReadings } from './streams.ts';

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
export async function backfill(options: CrawlOptions): Promise<ReadonlyMap<string, readonly Range[]>> {
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
