import type { CrawlContext } from '../crawl/crawl-context.ts';
import type { Planner } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Stop } from '../stop.ts';
import { createBlockSource } from './checks/block-source.ts';
import type { RepairContext } from './repair.ts';

/** A crawl that is open, as far as verification needs it. */
interface OpenCrawl {
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  readonly owner: string;
}

interface RepairOptions extends Pick<RepairContext, 'watermark' | 'leastPause' | 'insist'> {
  /** Every stream that is known, chosen or not. */
  readonly jobs: readonly Dataset[];
  readonly stop: Stop;
}

/** Puts together what verification and repair work with, from a crawl that is open. */
export function createRepairContext(
  { context, planner, chain, owner }: OpenCrawl,
  options: RepairOptions,
): RepairContext {
  const { database, clock, api } = context;
  const source = createBlockSource(api, chain, options.stop.leaving);
  return { database, clock, crawl: context, planner, owner, source, ...options };
}
