import job from '../../../jobs/transactions.ts';
import { contentOf, inside, readBody, toCommit } from '../../../src/crawl/streams/page.ts';
import type { Assignment } from '../../../src/crawl/streams/planner.ts';
import { commitPage, type PageCommit } from '../../../src/write/commit.ts';
import { claimLease } from '../../../src/ledger/leases.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { SPAN } from '../network.ts';
import { countRows, type BenchStore } from '../store.ts';

const PAGE = 1000;
/** Pages that are written, but not counted: then the compilers of both sides are warm. */
const WARM_UP = 10;

interface Written {
  /** Rows that were stored; rows on two pages are counted once. */
  readonly rows: number;
  readonly seconds: number;
  readonly cpuSeconds: number;
  /** CPU seconds of Postgres. */
  readonly serverSeconds: number;
}

interface WriteOptions {
  readonly pages: number;
  /** CPU seconds that Postgres has used so far. */
  readonly cpuSeconds?: () => Promise<number>;
}

/**
 * Commits pages of 1000 transactions of a served network, one after another on one connection. Only commits
 * are counted: their rows are read before.
 */
export async function writePath(
  api: string,
  store: BenchStore,
  { pages, cpuSeconds = () => Promise.resolve(0) }: WriteOptions,
): Promise<Written> {
  const partitions = createPartitions(store.database, 'month');
  const total = { seconds: 0, cpuSeconds: 0, serverSeconds: 0 };
  let number = 0;
  let before = 0;
  for await (const commit of commitsOf(api, await assign(store))) {
    if (number === WARM_UP) before = await countRows(store);
    const written = await costOf(() => commitPage(store.database, partitions, commit), cpuSeconds);
    number += 1;
    if (number <= WARM_UP) continue;
    total.seconds += written.seconds;
    total.cpuSeconds += written.cpuSeconds;
    total.serverSeconds += written.serverSeconds;
    if (number === WARM_UP + pages) break;
  }
  return { ...total, rows: (await countRows(store)) - before };
}

async function costOf(work: () => Promise<unknown>, cpuSeconds: () => Promise<number>) {
  const served = await cpuSeconds();
  const start = performance.now();
  const cpu = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - start) / 1000;
  return { seconds, cpuSeconds: (user + system) / 1e6, serverSeconds: (await cpuSeconds()) - served };
}

/** One lease of everything. */
async function assign({ database }: BenchStore): Promise<Assignment> {
  const stream = { dataset: 'transactions', scope: '', pass: 0 };
  const priority = 'backfill';
  const length = (free: number) => free;
  const lease = await claimLease(database, { stream, wanted: [SPAN], length, owner: 'bench', priority });
  if (lease === undefined) throw new Error('this database was written before');
  return { dataset: { name: 'transactions', job }, stream, zones: [[SPAN]], priority, lease };
}

/** Every page of the lease, read and ready to be committed. */
async function* commitsOf(api: string, assignment: Assignment): AsyncGenerator<PageCommit> {
  const { span } = assignment.lease;
  let cursor: unknown = job.paginator.start(span);
  while (cursor !== undefined) {
    const query = new URLSearchParams();
    const params = { ...job.params, ...job.paginator.request(cursor, PAGE) };
    for (const [name, value] of Object.entries(params)) query.set(name, String(value));
    const response = await fetch(`${api}${job.path}?${query.toString()}`);
    const body = Buffer.from(await response.arrayBuffer());
    const { reading, echo } = await readBody(job, body, () => Promise.resolve());
    const { positions } = reading;
    const step = job.paginator.next(cursor, { positions, echo, size: PAGE });
    const content = contentOf(job.tables, inside([reading], step.completed));
    const commit = toCommit(assignment, assignment.lease, [
      {
        value: { reading: { positions, accepted: [], rejected: [] }, step, content },
        request: { path: job.path, query: query.toString(), limit: PAGE },
        status: 200,
        bytes: body.length,
        ms: 0,
        attempts: 1,
        apiVersion: undefined,
      },
    ]);
    // The tables were empty, so all rows are new: they take the way that they take in a backfill.
    yield { ...commit, newAfter: (step.completed ?? span).from - 1 };
    cursor = step.cursor;
  }
}
