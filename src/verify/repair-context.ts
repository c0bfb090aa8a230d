import type { CrawlContext } from '../crawl/crawl-context.ts';
import type { Planner } from '../crawl/streams/planner.ts';
import type { ChainInfo } from '../crawl/chain-info.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Stop } from '../stop.ts';
import { createBlockSource } from './checks/block-source.ts';
import type { RepairContext } from './repair.ts';

/** The parts of an open crawl that verification needs. */
interface OpenCrawl {
  readonly context: CrawlContext;
  readonly planner: Planner;
  readonly chain: ChainInfo;
  readonly owner: string;
}

interface RepairOptions extends Pick<RepairContext, 'watermark' | 'leastPause' | 'ignorePauses'> {
  /** All datasets of the program, chosen or not. */
  readonly jobs: readonly Dataset[];
  readonly stop: Stop;
}

/** Builds the context of verification and repair from an open crawl. */
export function createRepairContext(
  { context, planner, chain, owner }: OpenCrawl,
  options: RepairOptions,
): RepairContext {
  const { database, clock, api } = context;
  const source = createBlockSource(api, chain, options.stop.leaving);
  return { database, clock, crawl: context, planner, owner, source, ...options };
}
