import { sql } from 'drizzle-orm';
import { addCoverage, type Stream } from '../../../src/ledger/stored-coverage.ts';
import { openDatabase } from '../../../src/postgres/database.ts';
import {
  claimLease,
  cutLease,
  holdLease,
  releaseLease,
  shortenLease,
  type Lease,
} from '../../../src/ledger/leases.ts';
import { LeaseLostError } from '../../../src/errors.ts';
import type { Range } from '../../../src/range.ts';

export interface ClaimingOrder {
  readonly database: string;
  readonly stream: Stream;
  readonly wanted: Range;
  /**
   * `work`: claims parts and commits them, bit by bit, until nothing is left, and gives some of it up in
   * between.
   * `freeze`: claims the whole, stops itself within its commit, and reports the outcome afterwards.
   * `overtaken`: the same, but it stops itself while its page is in flight, before its commit.
   */
  readonly kind: 'work' | 'freeze' | 'overtaken';
}

export interface ClaimingReport {
  readonly claims: number;
  /** The ranges that its transactions committed. */
  readonly covered: Range[];
  /** The code of the error that ended it. */
  readonly error: string | undefined;
}

const order = JSON.parse(process.argv[2] ?? '') as ClaimingOrder;
const { stream, wanted } = order;
const database = await openDatabase({ url: order.database, applicationName: 'claimant' });
const owner = `claimant/${process.pid}`;
const report = { claims: 0, covered: [] as Range[], error: undefined as string | undefined };

async function claim(length: number): Promise<Lease | undefined> {
  const lease = await claimLease(database, {
    stream,
    wanted: [wanted],
    length: () => length,
    owner,
    priority: 'backfill',
  });
  if (lease !== undefined) report.claims += 1;
  return lease;
}

async function commit(lease: Lease, to: number, before?: () => void): Promise<Lease> {
  const done = { from: lease.span.from, to };
  await database.transaction(async (session) => {
    await holdLease(session, lease, done);
    await session.run(sql`insert into etl.wanted (dataset, since, chosen)
      values (${`${stream.dataset} ${done.from}`}, ${done.from}, ${owner}) on conflict do nothing`);
    await shortenLease(session, lease, to);
    await addCoverage(session, stream, done);
    before?.();
  });
  report.covered.push(done);
  return { ...lease, span: { from: to, to: lease.span.to } };
}

/** Every way in which a lease can end, at random. */
async function work(): Promise<void> {
  for (;;) {
    let lease = await claim(1 + Math.floor(Math.random() * 5));
    if (lease === undefined) return;
    if (lease.span.to - lease.span.from > 3) lease = await cutLease(database, lease, lease.span.from + 3);
    while (lease.span.from < lease.span.to && Math.random() < 0.9)
      lease = await commit(lease, lease.span.from + 1);
    if (lease.span.from < lease.span.to) await releaseLease(database, lease);
  }
}

async function freeze(): Promise<void> {
  const lease = await claim(Number.MAX_SAFE_INTEGER);
  if (lease === undefined) return;
  if (order.kind === 'overtaken') stopHere();
  await commit(lease, lease.span.to, order.kind === 'freeze' ? stopHere : undefined);
}

function stopHere(): void {
  process.send?.('frozen');
  process.kill(process.pid, 'SIGSTOP');
}

process.send?.('ready');
process.once('message', () => {
  (order.kind === 'work' ? work() : freeze())
    .catch((error: unknown) => {
      report.error = error instanceof LeaseLostError ? error.code : String(error);
    })
    .finally(() => process.send?.(report satisfies ClaimingReport, () => process.exit()));
});
