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
import { readPages, type LeaseReading, type IdleReaders } from './read-pages.ts';

/** Used if a lease is read alone: no reader waits for work. */
const NO_IDLE_READERS: IdleReaders = { count: () => 0, wake: () => undefined };

type CrawlLeaseOptions = Pick<LeaseReading, 'stop'> & Partial<Pick<LeaseReading, 'idleReaders'>>;

/**
 * Reads a lease, and releases what is left of it. If the API fails for good for a range, the range is refused
 * for a while and logged.
 * @throws every error that stops the other readers too, after the lease was released
 */
export async function crawlLease(
  context: CrawlContext,
  assignment: Assignment,
  { stop, idleReaders = NO_IDLE_READERS }: CrawlLeaseOptions,
): Promise<void> {
  const { database, logger } = context;
  const { dataset, lease } = assignment;
  const { stream } = lease;
  const renew = () => renewLease(database, lease);
  const stopRenewing = keepAlive(context, {
    what: `a lease of ${dataset.name}`,
    heldSeconds: HOLD_SECONDS,
    renew,
  });
  let rest = lease.span;
  const network = context.network.begin();
  const read = async () => {
    for await (rest of readPages(context, { ...assignment, stop, idleReaders, network }));
  };
  const logLost = () => {
    logger.warn({ dataset: dataset.name, scope: stream.scope, range: formatRange(rest) }, 'lease lost');
  };
  const lost = (error: unknown) => {
    if (!(error instanceof LeaseLostError)) throw error;
    logLost();
  };
  try {
    const failure = await readUnlessRefused({ context, stream, stop }, () => read().catch(lost));
    // The range is refused while its lease is held. Otherwise another reader could claim it and send the same
    // request again.
    if (failure === undefined) return;
    if (dataset.name === 'blocks' && (await explainByGap(context, rest, failure, stop.leaving))) return;
    if (await renew()) await refuseRest(context, assignment, rest, failure);
    else logLost();
  } finally {
    stopRenewing();
    // The commit that completes a lease also ends it.
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
