import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { claimLease } from '../../src/ledger/leases.ts';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { transactions } from '../../src/tables/ton/transactions.ts';
import { formatTime } from '../../src/range.ts';
import { commitPage, type PageCommit } from '../../src/write/commit.ts';
import { createPartitions } from '../../src/write/target.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import transactionsJob from '../../jobs/transactions.ts';
import { linesOfRecords } from '../../src/write/lines.ts';
import { sampleMessage, sampleTransaction } from '../support/samples/sample-records.ts';
import { samplePage } from '../support/samples/sample-page.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const SPAN = { from: START, to: START + 100 };

const Count = z.object({ count: z.coerce.number() });

let store: TestStore;
beforeEach(async () => {
  store = await openTestStore();
});
afterEach(() => store.close());

describe('a page with some stored rows', () => {
  const stream = { dataset: 'transactions', scope: '', pass: 0 };

  /** Commits it, for a lease of its seconds that it takes. */
  async function commit(database: Database, rows: PageCommit['rows']): Promise<void> {
    await database.script('delete from etl.coverage; delete from etl.leases');
    const claim = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
    const lease = (await claimLease(database, claim))!;
    await commitPage(database, createPartitions(database, 'month'), {
      ...{ lease, rows, rejected: [], extras: [], ids: [], pages: [] },
      ...{ replace: false, overwrite: false, done: { span: SPAN, outcome: 'covered' } },
    });
  }

  const stored = ({ database }: TestStore) =>
    database.rows(sql`select count(*) as count from ton.transactions`, Count);

  it('adds only what is not stored', async () => {
    const page = samplePage(SPAN, 1000);
    await commit(store.database, samplePage({ ...SPAN, to: SPAN.from + 50 }, 500));
    await commit(store.database, page);
    await commit(store.database, page);
    expect(await stored(store)).toEqual([{ count: 1000 }]);
  });

  it('is written again if its records come again, because they may have more members', async () => {
    const { database } = store;
    const claim = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
    const lease = (await claimLease(database, claim))!;
    const log = { ...sampleMessage({ created_at: String(START + 10) }), destination: null };
    const once = { ...sampleTransaction(), now: START + 10, in_msg: null, out_msgs: [], trace_id: null };
    const again = { ...once, out_msgs: [log], trace_id: `${'z'.repeat(42)}A=` };
    for (const [record, done] of [[once], [again, { span: SPAN, outcome: 'covered' }]] as const) {
      const { accepted, rejected } = transactionsJob.read([record]);
      expect(rejected).toEqual([]);
      await commitPage(database, createPartitions(database, 'month'), {
        ...{ lease, rows: linesOfRecords(transactionsJob.tables, accepted), done },
        ...{ rejected: [], extras: [], ids: [], pages: [], replace: false, overwrite: false },
      });
    }
    const messages = sql`select count(*) as count from ton.messages`;
    expect(await database.rows(messages, Count)).toEqual([{ count: 1 }]);
    const traced = sql`select count(*) as count from ton.transactions where trace_id is not null`;
    expect(await database.rows(traced, Count)).toEqual([{ count: 1 }]);
  });

  it('is refused if its table drops some without an error', async () => {
    const { database } = store;
    const page = samplePage(SPAN, 1000);
    await database.script(`
      create function public.drop_some() returns trigger language plpgsql as $$
        begin return case when new.lt % 100 = 99 then null else new end; end $$;
      create trigger drop_some before insert on ton.transactions for each row execute function public.drop_some();`);
    await expect(commit(database, page)).rejects.toThrow('took 990 of 1000 rows without an error');
    expect(await stored(store)).toEqual([{ count: 0 }]);
    await database.script('drop trigger drop_some on ton.transactions');
    await commit(database, page);
    expect(await stored(store)).toEqual([{ count: 1000 }]);
  });

  it('removes the certificate of seconds that another dataset had verified', async () => {
    const { database } = store;
    const claim = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
    const lease = (await claimLease(database, claim))!;
    await database.run(sql`
      insert into etl.coverage (dataset, covered, verified)
      values ('transactions', ${`{[${SPAN.from},${SPAN.to})}`}, ${`{[${SPAN.from},${SPAN.to})}`})`);
    const middle = SPAN.from + 50;
    const isLater = ({ time }: { readonly time: string }) => time >= formatTime(middle);
    const rows = samplePage(SPAN, 100).map((lines) => lines.split(isLater)[0]);
    await commitPage(database, createPartitions(database, 'month'), {
      ...{ lease, rows, rejected: [], extras: [], ids: [], pages: [] },
      ...{ replace: false, overwrite: false, done: undefined },
    });
    expect(await readVerified(database, stream)).toEqual([{ from: SPAN.from, to: middle }]);
    // Half of the rows were cut off.
    expect(await stored(store)).toEqual([{ count: 50 }]);
  });

  it('is written by a plain role if row security is on', async () => {
    const { url, database } = store;
    const role = `plain_${randomUUID().replaceAll('-', '')}`;
    await database.script(`
      create role ${role} login password 'plain';
      grant all on schema ton, etl, etl_partitions to ${role};
      grant all on all tables in schema ton, etl, etl_partitions to ${role};
      grant all on all sequences in schema etl to ${role};
      alter table ton.transactions enable row level security;
      create policy everybody on ton.transactions using (true) with check (true);`);
    await createPartitions(database, 'month').ensure([transactions], [formatTime(SPAN.from)]);
    await database.script(`grant all on all tables in schema etl_partitions to ${role}`);
    const login = new URL(url);
    Object.assign(login, { username: role, password: 'plain' });
    const other = await openDatabase({ url: login.href, applicationName: 'plain' });
    try {
      await commit(other, samplePage(SPAN, 1000));
      expect(await stored(store)).toEqual([{ count: 1000 }]);
    } finally {
      await other.close();
      await database.script(`drop owned by ${role}; drop role ${role}`);
    }
  });
});
