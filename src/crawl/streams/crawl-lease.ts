import { readMissing } from '../../ledger/stored-coverage.ts';
import { refuse } from '../../ledger/refused.ts';
import { HOLD_SECONDS } from '../../ledger/holds.ts';
import { renewLease, releaseLease } from '../../ledger/leases.ts';
import { LeaseLostError, type EtlError } from '../../errors.ts';
import { formatRange, type Range } from '../../range.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { explainByGap } from '../gaps.ts';
import { levelOf, readUnlessRefused } from '../failure-policy.ts';
import { keepAlive } from '../keep-alive.ts';
import type { Assignment } from './planner.ts';
import { readPages, type LeaseReading, type Peers } from './read-pages.ts';

/** Nobody waits for work. */
const NO_PEERS: Peers = { idle: () => 0, wake: () => undefined };

type CrawlLeaseOptions = Pick<LeaseReading, 'stop'> & Partial<Pick<LeaseReading, 'peers'>>;

/**
 * Reads a lease, and gives back what is not read of it. A range for which the API fails for good is refused for a while
 * and logged.
 * @throws whatever the API or the database refused and concerns others too, after the lease was given back
 */
export async function crawlLease(
  context: CrawlContext,
  assignment: Assignment,
  { stop, peers = NO_PEERS }: CrawlLeaseOptions,
): Promise<void> {
  const { database, logger } = context;
  const { dataset, lease } = assignment;
  const { stream } = lease;
  const prolong = () => renewLease(database, lease);
  const letGo = keepAlive(context, {
    what: `a lease of ${dataset.name}`,
    heldSeconds: HOLD_SECONDS,
    prolong,
  });
  let rest = lease.span;
  const network = context.network.begin();
  const read = async () => {
    for await (rest of readPages(context, { ...assignment, stop, peers, network }));
  };
  const sayLost = () => {
    logger.warn({ dataset: dataset.name, scope: stream.scope, range: formatRange(rest) }, 'lease lost');
  };
  const lost = (error: unknown) => {
    if (!(error instanceof LeaseLostError)) throw error;
    sayLost();
  };
  try {
    const failure = await readUnlessRefused({ context, stream, stop }, () => read().catch(lost));
    // While it is held: another reader would take what is free, and ask for it again before it is refused.
    if (failure === undefined) return;
    if (dataset.name === 'blocks' && (await explainByGap(context, rest, failure, stop.leaving))) return;
    if (await prolong()) await refuseRest(context, assignment, rest, failure);
    else sayLost();
  } finally {
    letGo();
    // The commit that completes a lease ends it.
    if (rest.from < rest.to) await releaseLease(database, lease).catch(() => undefined);
  }
}

async function refuseRest(
  { database, logger }: CrawlContext,
  { dataset, lease: { stream } }: Assignment,
  rest: Range,
  failure: EtlError,
): Promise<void> {
  const { code, message } = failure;
  for (const span of await readMissing(database, stream, [rest])) {
    const range = formatRange(span);
    logger[levelOf(failure)](
      { dataset: dataset.name, scope: stream.scope, range, code, reason: message },
      'range refused',
    );
    await refuse(database, stream, span, { reason: 'failing', detail: message });
  }
}
