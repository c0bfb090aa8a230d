import type { Dataset } from '../../dataset/dataset.ts';
import { reopen, type Reopening } from '../../db/coverage/reopen.ts';
import { CONFLICT, retry } from '../../retry.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { Planner, Want } from './planner.ts';
import { readLeases } from './read-leases.ts';

export interface FillContext {
  readonly crawl: CrawlContext;
  readonly planner: Planner;
  readonly stop: Stop;
}

/**
 * Takes holes out of coverage and reads them again. They are leased as they are taken out; where a lease was lost or
 * cut, what is left of it is claimed anew.
 */
export async function fillHoles(
  { crawl, planner, stop }: FillContext,
  dataset: Dataset,
  reopening: Reopening,
): Promise<void> {
  const { stream, holes } = reopening;
  const priority = 'repair';
  const want: Want = { dataset, stream, zones: holes.map((hole) => [hole]), priority };
  const leases = await retry({ ...crawl, ...CONFLICT }, () => reopen(crawl.database, reopening));
  const take = async (readers: number) => {
    const lease = leases.shift();
    return lease === undefined ? planner.takeSome([want], readers) : [{ ...want, lease }];
  };
  const isOver = () => Promise.resolve(true);
  await readLeases({ context: crawl, stop, planner, priority, take, isOver });
}
