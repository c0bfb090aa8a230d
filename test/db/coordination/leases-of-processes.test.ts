import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import {
  addCoverage,
  readCoverage,
  subtractCoverage,
  type Stream,
} from '../../../src/db/coverage/coverage.ts';
import { claimLease } from '../../../src/db/coordination/leases.ts';
import { systemClock } from '../../../src/clock.ts';
import { commitWithRetry } from '../../../src/crawl/commit-with-retry.ts';
import { endStrayCopies } from '../../../src/db/coordination/copying.ts';
import { commitPage, type PageCommit } from '../../../src/db/write/commit.ts';
import { createPartitions } from '../../../src/db/write/partitions.ts';
import type { Range } from '../../../src/range.ts';
import { untilOneWaits } from '../../support/database/until-one-waits.ts';
import { samplePage } from '../../support/samples/sample-page.ts';
import { compile } from '../../support/program/compile.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import type { ClaimingOrder } from '../../support/leases/claimant.ts';
import { claimTogether, go, startClaimant, thaw } from '../../support/leases/claimants.ts';

let compiled: string;
let store: TestStore;
beforeAll(async () => {
  [compiled, store] = await Promise.all([compile(), openTestStore()]);
});
afterAll(async () => {
  await store.close();
});

const start = (order: Omit<ClaimingOrder, 'database'>) =>
  startClaimant(compiled, { ...order, database: store.url });

/** The long form is test/long/claims.long.ts. */
test('processes that claim and commit hundreds of parts at once never get the same second twice', async () => {
  const stream: Stream = { dataset: 'shared', scope: '', pass: 0 };
  const wanted: Range = { from: 0, to: 500 };
  const reports = await claimTogether(compiled, 4, { database: store.url, stream, wanted });
  expect(reports.map(({ error }) => error)).toEqual(reports.map(() => undefined));
  const seconds = reports.flatMap(({ covered }) => covered.map(({ from }) => from)).sort((a, b) => a - b);
  expect(seconds).toEqual(Array.from({ length: wanted.to }, (_, second) => second));
  expect(await readCoverage(store.database, stream)).toEqual([wanted]);
});

test.concurrent('a process frozen within its commit blocks nobody for long, and writes nothing', async () => {
  const stream: Stream = { dataset: 'frozen', scope: '', pass: 0 };
  const process = await start({ stream, wanted: { from: 0, to: 100 }, kind: 'freeze' });
  expect(await go(process)).toBe('frozen');
  const begin = performance.now();
  // Waits for the row of coverage that the frozen process holds.
  await addCoverage(store.database, stream, { from: 200, to: 300 });
  // Half of a lease.
  expect(performance.now() - begin).toBeLessThan(30_000);
  expect(await thaw(process)).toMatchObject({ covered: [], error: 'lease_lost' });
  expect(await readCoverage(store.database, stream)).toEqual([{ from: 200, to: 300 }]);
  expect(await rowsOf('frozen')).toBe(0);
});

test.concurrent(
  'a process frozen past its lease finds that others have its range, and writes nothing',
  async () => {
    const stream: Stream = { dataset: 'overtaken', scope: '', pass: 0 };
    const wanted = { from: 0, to: 100 };
    const process = await start({ stream, wanted, kind: 'overtaken' });
    expect(await go(process)).toBe('frozen');
    await store.database.run(sql`
    update etl.leases set expires_at = clock_timestamp() where dataset = ${stream.dataset}`);
    const other = { stream, wanted: [wanted], length: () => 1000, owner: 'other', priority: 'backfill' };
    expect((await claimLease(store.database, other))?.span).toEqual(wanted);
    expect(await thaw(process)).toMatchObject({ covered: [], error: 'lease_lost' });
    expect(await readCoverage(store.database, stream)).toEqual([]);
    expect(await rowsOf('overtaken')).toBe(0);
  },
);

test.concurrent('a hole found while a page of it is under way stays a hole', async () => {
  const stream: Stream = { dataset: 'holed', scope: '', pass: 0 };
  await addCoverage(store.database, stream, { from: 0, to: 100 });
  const process = await start({ stream, wanted: { from: 100, to: 200 }, kind: 'overtaken' });
  expect(await go(process)).toBe('frozen');
  await store.database.transaction((session) => subtractCoverage(session, stream, [{ from: 90, to: 110 }]));
  expect(await thaw(process)).toMatchObject({ covered: [], error: 'lease_lost' });
  expect(await readCoverage(store.database, stream)).toEqual([{ from: 0, to: 90 }]);
});

test.concurrent(
  'a process frozen while it copies keeps its rows from nobody once its lease is over',
  async () => {
    const { database } = store;
    const stream: Stream = { dataset: 'copied', scope: '', pass: 0 };
    const span = { from: 1_780_000_000, to: 1_780_001_000 };
    const process = await start({ stream, wanted: span, kind: 'copying' });
    expect(await go(process)).toBe('frozen');
    await untilOneWaits(database, database, 'copy "ton"%', 'Client');
    // The lease is its own, and whoever copies for one that is lives.
    expect(await endStrayCopies(database)).toBe(0);
    await database.run(sql`update etl.leases set expires_at = clock_timestamp() where dataset = 'copied'`);
    const wanted = { stream, wanted: [span], length: () => 1000, owner: 'other', priority: 'backfill' };
    const lease = (await claimLease(database, wanted))!;
    const page: PageCommit = {
      ...{ lease, rows: samplePage(span, 4000), rejected: [], extras: [], ids: [], pages: [] },
      ...{ replace: false, overwrite: false, done: { span, outcome: 'covered' } },
    };
    const partitions = createPartitions(database, 'month');
    const context = { database, partitions, attempts: 5, clock: systemClock, random: Math.random };
    expect(await commitWithRetry(context, () => commitPage(database, partitions, page))).toBe(true);
    expect(await readCoverage(database, stream)).toEqual([span]);
    expect(await thaw(process)).toMatchObject({ error: 'lease_lost' });
    const stored = sql`select count(*)::int as count from ton.transactions`;
    expect(await database.rows(stored, z.object({ count: z.number() }))).toEqual([{ count: 4000 }]);
  },
);

async function rowsOf(dataset: string): Promise<number> {
  const [row] = await store.database.rows(
    sql`select count(*)::int as count from etl.wanted where dataset like ${`${dataset} %`}`,
    z.object({ count: z.number() }),
  );
  return row?.count ?? NaN;
}
