import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import * as z from 'zod';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { endStrayCopies, markCopying, claimLease, holdLease, type Lease } from '../../src/ledger/leases.ts';
import { dropPartition } from '../../src/write/take-out.ts';
import { commitPage, type PageCommit, commitWithRetry } from '../../src/write/commit.ts';
import { createPartitions } from '../../src/write/target.ts';
import { systemClock } from '../../src/clock.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { codeOf } from '../../src/errors.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openStandingCopy, type StandingCopy } from '../support/database/standing-copy.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';
import { samplePage } from '../support/samples/sample-page.ts';
import { thorough } from '../support/thorough.ts';

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

/** After this many bytes the server has stored rows already. */
const ENOUGH_BYTES = 1_000_000;

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function claim(): Promise<Lease> {
  const stream = { dataset: 'transactions', scope: '', pass: 0 };
  const wanted = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
  return (await claimLease(store.database, wanted))!;
}

thorough(
  'leaves a process that holds the row of its lease to its commit, however slow it is',
  async () => {
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
  },
  60_000,
);

const page = (lease: Lease, rows: PageCommit['rows'], newAfter: PageCommit['newAfter']): PageCommit => ({
  ...{ lease, rows, rejected: [], extras: [], ids: [], pages: [] },
  ...{ replace: false, overwrite: false, newAfter, done: { span: SPAN, outcome: 'covered' } },
});

const DIRECTLY = ['into its tables', SPAN.from, /^copy "ton"/, 'copy "ton"%'] as const;
const STAGED = ['into staging tables', undefined, /create temp table/, '%create temp table%'] as const;

describe.each([DIRECTLY, STAGED])(
  'a process that freezes while it copies %s',
  (_, newAfter, statement, like) => {
    let line: StandingCopy;
    let stopped: Database;
    let copy: Promise<unknown>;
    let lease: Lease;
    beforeEach(async () => {
      line = await openStandingCopy(store.url, statement, ENOUGH_BYTES);
      stopped = await openDatabase({ url: line.url, applicationName: 'standing' });
      lease = await claim();
      copy = commitPage(
        stopped,
        createPartitions(stopped, 'month'),
        page(lease, samplePage(SPAN, 4000), newAfter),
      );
      copy = copy.catch(codeOf);
      await line.stopped;
      await untilOneWaits(store.database, store.database, like, 'Client');
    });
    afterEach(async () => {
      line.goOn();
      await copy;
      await stopped.close();
      await line.close();
    });

    thorough(
      'blocks no other process once its lease is over, and writes nothing',
      async () => {
        const { database } = store;
        // The lease is its own, so the process that copies for it counts as alive.
        expect(await endStrayCopies(database)).toBe(0);
        await database.run(sql`update etl.leases set expires_at = clock_timestamp()`);
        const next = await claim();
        const partitions = createPartitions(database, 'month');
        const context = { database, partitions, attempts: 5, clock: systemClock, random: Math.random };
        const network = { confirm: () => Promise.resolve() };
        const commit = () => commitPage(database, partitions, page(next, samplePage(SPAN, 4000), newAfter));
        expect(await commitWithRetry(context, network, commit)).toBe(newAfter !== undefined);
        expect(await readCoverage(database, next.stream)).toEqual([SPAN]);
        // Staged rows block no other process, so that session was not ended.
        if (newAfter === undefined) line.goOn();
        expect(await copy).toBe('lease_lost');
        const stored = sql`select count(*)::int as count from ton.transactions`;
        expect(await database.rows(stored, z.object({ count: z.number() }))).toEqual([{ count: 4000 }]);
      },
      60_000,
    );

    thorough(
      'does not keep a partition from being dropped',
      async () => {
        const { database } = store;
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
          { lastWrite: undefined } as never,
        );
        expect(await copy).toBe('lease_lost');
      },
      60_000,
    );
  },
);
