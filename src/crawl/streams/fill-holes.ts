import type { Dataset } from '../../dataset/dataset.ts';
import { reopen, type Reopening } from '../../write/reopen.ts';
import { HOLD_SECONDS } from '../../ledger/holds.ts';
import { renewLeases, releaseLease } from '../../ledger/leases.ts';
import { CONFLICT, retry } from '../../retry.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { keepAlive } from '../keep-alive.ts';
import type { Planner, Want } from './planner.ts';
import { readLeases } from './read-leases.ts';

export interface FillContext {
  readonly crawl: CrawlContext;
  readonly planner: Planner;
  readonly stop: Stop;
}

/**
 * Takes holes out of coverage and reads them again. The same transaction leases them, and the leases are held
 * until a reader is free. If a lease is lost or cut, the rest of it is claimed again.
 */
export async function fillHoles(
  { crawl, planner, stop }: FillContext,
  dataset: Dataset,
  reopening: Reopening,
): Promise<void> {
  const { stream, holes } = reopening;
  const priority = 'repair';
  const want: Want = { dataset, stream, zones: holes.map((hole) => [hole]), priority };
  const waiting = await retry({ ...crawl, ...CONFLICT }, () => reopen(crawl.database, reopening));
  const take = async (readers: number) => {
    const lease = waiting.shift();
    return lease === undefined ? planner.takeSome([want], readers) : [{ ...want, lease }];
  };
  const renew = async () => {
    const asked = [...waiting];
    const held = new Set(await renewLeases(crawl.database, asked));
    const lost = asked.filter((lease) => !held.has(lease) && waiting.includes(lease));
    if (lost.length === 0) return;
    crawl.logger.warn({ dataset: dataset.name, scope: stream.scope, leases: lost.length }, 'leases lost');
    for (const lease of lost) waiting.splice(waiting.indexOf(lease), 1);
  };
  const what = `leases of ${dataset.name} that wait`;
  const stopRenewing = keepAlive(crawl, { what, heldSeconds: HOLD_SECONDS, renew });
  const isOver = () => Promise.resolve(true);
  try {
    await readLeases({ context: crawl, stop, planner, priority, take, isOver });
  } finally {
    stopRenewing();
    for (const lease of waiting) await releaseLease(crawl.database, lease).catch(() => undefined);
  }
}
