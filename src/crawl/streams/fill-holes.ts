import type { Dataset } from '../../dataset/dataset.ts';
import { reopen, type Reopening } from '../../db/coverage/reopen.ts';
import { CONFLICT, retry } from '../../retry.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { readOrRefuse } from './read-leases.ts';
import type { Assignment, Planner } from './planner.ts';

/** A hole that the source cannot even be asked for keeps the others from nothing. */
const ON_WRONG_RESPONSE = 'refuse';

export interface FillContext {
  readonly crawl: CrawlContext;
  readonly planner: Planner;
  readonly stop: Stop;
}

/**
 * Takes holes out of coverage and reads them again. They are leased as they are taken out; where a lease was lost or
 * cut, what is left of it is claimed anew.
 */
export async function fillHoles(context: FillContext, dataset: Dataset, reopening: Reopening): Promise<void> {
  const { crawl } = context;
  const { stream, holes } = reopening;
  const want = { dataset, stream, zones: holes.map((hole) => [hole]), priority: 'repair' as const };
  for (const lease of await retry({ ...crawl, ...CONFLICT }, () => reopen(crawl.database, reopening))) {
    if (context.stop.finishing.aborted) return;
    await readOrRefuse(crawl, { ...want, lease }, context.stop, ON_WRONG_RESPONSE);
  }
  for (;;) {
    if (context.stop.finishing.aborted) return;
    const rest: Assignment | undefined = await context.planner.take([want]);
    if (rest === undefined) return;
    await readOrRefuse(crawl, rest, context.stop, ON_WRONG_RESPONSE);
  }
}
