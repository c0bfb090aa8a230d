import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, expect, it } from 'vitest';
import * as z from 'zod';
import { openDatabase, type Database } from '../../../src/db/connection/database.ts';
import { endStrayCopies, markCopying } from '../../../src/db/coordination/copying.ts';
import { claimLease, holdLease, type Lease } from '../../../src/db/coordination/leases.ts';
import { dropPartition } from '../../../src/db/coverage/retention.ts';
import { commitPage, type PageCommit } from '../../../src/db/write/commit.ts';
import { createPartitions } from '../../../src/db/write/partitions.ts';
import { codeOf } from '../../../src/errors.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { samplePage } from '../../support/samples/sample-page.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const SPAN = { from: START, to: START + 100 };

/** Longer than what counts as young. */
const OLD_MS = 10_500;

let store: TestStore;
let other: Database;
beforeEach(async () => {
  store = await openTestStore();
  other = await openDatabase({ url: store.url, applicationName: 'copies' });
});
afterEach(async () => {
  await other.close();
  await store.close();
});

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function claim(): Promise<Lease> {
  const stream = { dataset: 'transactions', scope: '', pass: 0 };
  const wanted = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
  return (await claimLease(store.database, wanted))!;
}

it('leaves whoever holds the row of its lease to its commit, however slow it is', async () => {
  const { database } = store;
  const lease = await claim();
  await database.run(sql`update etl.leases set expires_at = clock_timestamp() + interval '5 s'`);
  const slow = other.transaction(async (session) => {
    await markCopying(session, lease);
    await holdLease(session, lease, SPAN);
    await session.run(sql`select pg_sleep(12)`);
    return 'done';
  });
  await sleep(OLD_MS);
  expect(await endStrayCopies(database)).toBe(0);
  expect(await slow).toBe('done');
}, 60_000);

it('does not let a copy of a lease that is over keep a partition from being dropped', async () => {
  const { database } = store;
  const lease = await claim();
  let goOn = () => {};
  const gate = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const rows = samplePage(SPAN, 1000).map((lines) => ({
    ...lines,
    ...(lines.isNew && {
      async *pieces() {
        await gate;
        yield* [...lines.pieces()].map((piece) => Buffer.from(piece));
      },
    }),
  }));
  const commit = {
    ...{ lease, rows, rejected: [], extras: [], ids: [], pages: [] },
    ...{ replace: false, overwrite: false, done: { span: SPAN, outcome: 'covered' } },
  } as unknown as PageCommit;
  const copy = commitPage(other, createPartitions(other, 'month'), commit).catch(codeOf);
  await sleep(OLD_MS);
  await database.script('delete from etl.leases');
  const [partition] = await database.rows(
    sql`select name, lower(span) as "from", upper(span) as "to" from etl.partitions where parent = 'transactions'`,
    z.object({ name: z.string(), from: z.coerce.number(), to: z.coerce.number() }),
  );
  const { name, ...span } = partition!;
  await dropPartition(
    database,
    { table: 'transactions', name, span } as never,
    { lastReceipt: undefined } as never,
  );
  expect(await copy).toBe('lease_lost');
  goOn();
}, 60_000);
