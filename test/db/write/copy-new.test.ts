import { randomUUID } from 'node:crypto';
import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod';
import { claimLease } from '../../../src/db/coordination/leases.ts';
import { openDatabase, type Database } from '../../../src/db/connection/database.ts';
import { readVerified } from '../../../src/db/coverage/verifications.ts';
import { transactions } from '../../../src/db/schema/ton/transactions.ts';
import { formatTime } from '../../../src/range.ts';
import { textOf } from '../../../src/db/connection/sql.ts';
import { commitPage, type PageCommit } from '../../../src/db/write/commit.ts';
import { createPartitions } from '../../../src/db/write/partitions.ts';
import { backfill } from '../../../src/crawl/streams/backfill.ts';
import { reachOf } from '../../../src/crawl/streams/reach.ts';
import { datasetsNamed, never, openTestCrawl } from '../../support/crawl.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import transactionsJob from '../../../jobs/transactions.ts';
import { freshBehind, type Fresh } from '../../../src/dataset/fresh.ts';
import { linesOfRecords } from '../../../src/db/write/rows/lines.ts';
import { sampleMessage, sampleTransaction } from '../../support/samples/sample-records.ts';
import { samplePage } from '../../support/samples/sample-page.ts';
import { startSimulator } from '../../support/simulator/simulator.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const TABLES = [
  ...['transactions', 'messages', 'traces', 'trace_edges', 'jetton_transfers'],
  ...['blocks', 'nft_transfers', 'jetton_burns'],
];
const SPAN = { from: START, to: START + 100 };

const Count = z.object({ count: z.coerce.number() });

let stores: TestStore[];
beforeEach(async () => {
  stores = [await openTestStore(), await openTestStore()];
});
afterEach(async () => {
  for (const store of stores) await store.close();
});

/** The same database, and where its rows were copied to. */
function watched(real: Database) {
  const copied: string[] = [];
  const database: Database = {
    ...real,
    transaction: (work, how) =>
      real.transaction(
        (session) =>
          work({
            ...session,
            copyIn: (statements, pieces) => {
              copied.push(/copy (\S+)/.exec(textOf(statements))?.[1] ?? '');
              return session.copyIn(statements, pieces);
            },
          }),
        how,
      ),
  };
  return { database, copied };
}

/** Reads all of a network; where its rows were copied to. */
async function crawl(store: TestStore, url: string, names: readonly string[]): Promise<string[]> {
  const { database, copied } = watched(store.database);
  const opened = await openTestCrawl({ ...store, database }, url);
  try {
    const wanted = { from: 0, to: opened.chain.last.utime };
    const reach = await reachOf({ ...opened, wanted, delaySeconds: 0, signal: never.leaving });
    await backfill({ ...opened, datasets: await datasetsNamed(...names), reach, stop: never });
  } finally {
    await opened.close();
  }
  return copied;
}

/** Everything that a crawl leaves, but for when it did. */
async function contents({ database }: TestStore) {
  const Text = z.object({ text: z.string().nullable() });
  const all = async (query: ReturnType<typeof sql>) => (await database.rows(query, Text))[0]?.text;
  const tables: Record<string, unknown> = {};
  for (const table of TABLES)
    tables[table] = await all(sql`
      select count(*) || ' ' || md5(string_agg(text, '' order by text)) as text
      from (select (to_jsonb(t) - 'loaded_at')::text as text from ton.${sql.identifier(table)} t) rows`);
  const receipts = await all(sql`
    select string_agg(concat_ws(' ', table_name, minute, rows, keys), ',' order by table_name, minute) as text
    from (select table_name, minute, sum(rows) as rows, sum(keys) as keys from etl.receipts group by 1, 2
      having sum(rows) <> 0) r`);
  const coverage = await all(sql`
    select string_agg(concat_ws(' ', dataset, covered), ',' order by dataset) as text from etl.coverage`);
  return { tables, receipts, coverage };
}

/** A table that says of each copied row that it is there already: each lease finds that its rows have to go the other way. */
const REFUSE_COPIES = `
  create function public.refuse() returns boolean language plpgsql as $$
    begin
      if current_query() ilike 'copy "ton"%' then raise unique_violation; end if;
      return true;
    end $$;
  do $$
    declare name text;
    begin
      foreach name in array array['${TABLES.join("','")}'] loop
        execute format('alter table ton.%I add constraint refuse check (public.refuse())', name);
      end loop;
    end $$;`;

const straight = (copied: readonly string[]) => copied.filter((table) => table.startsWith('"ton"'));

describe('a range that is copied straight into its tables', () => {
  it.each([
    ['transactions'],
    ['traces'],
    ['jetton_transfers'],
    ['blocks', 'nft_transfers', 'jetton_burns'],
    ['traces', 'transactions', 'jetton_transfers'],
  ])(
    'equals one that is staged: %s %s %s',
    async (...names) => {
      const simulator = await startSimulator({ start: START, duration: 450, seed: 3, load: 9 });
      try {
        const [direct, staged] = stores as [TestStore, TestStore];
        const given = names.filter((name) => typeof name === 'string');
        await staged.database.script(REFUSE_COPIES);
        const copied = await crawl(direct, simulator.url, given);
        await crawl(staged, simulator.url, given);
        expect(straight(copied).length).toBeGreaterThan(0);
        // What pages share has been written as it is.
        if (names[0] === 'transactions')
          expect(copied.filter((table) => /temp.*transactions_/.test(table))).toEqual([]);
        const [left, right] = [await contents(direct), await contents(staged)];
        for (const name of given) expect(left.receipts).toContain(`${name} `);
        expect(left).toEqual(right);
      } finally {
        await simulator.close();
      }
    },
    120_000,
  );
});

describe('a page whose rows are taken for new ones', () => {
  const stream = { dataset: 'transactions', scope: '', pass: 0 };

  /** Commits it, for a lease of its seconds that it takes; whether its rows were new. */
  async function commit(database: Database, rows: PageCommit['rows']): Promise<boolean> {
    await database.script('delete from etl.coverage; delete from etl.leases');
    const claim = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
    const lease = (await claimLease(database, claim))!;
    return commitPage(database, createPartitions(database, 'month'), {
      ...{ lease, rows, rejected: [], extras: [], ids: [], pages: [] },
      ...{ replace: false, overwrite: false, done: { span: SPAN, outcome: 'covered' } },
    });
  }

  const receipts = ({ database }: TestStore) =>
    database.rows(sql`select coalesce(sum(rows), 0) as count from etl.receipts`, Count);
  const stored = ({ database }: TestStore) =>
    database.rows(sql`select count(*) as count from ton.transactions`, Count);

  it('is written as any other one where some are stored already', async () => {
    const [store] = stores as [TestStore];
    const page = samplePage(SPAN, 1000);
    expect(page.map(({ isNew, count }) => isNew && count)).toContain(990);
    expect(await commit(store.database, page)).toBe(true);
    expect(await receipts(store)).toEqual([{ count: 1000 }]);
    expect(await commit(store.database, page)).toBe(false);
    expect(await receipts(store)).toEqual([{ count: 1000 }]);
    expect(await stored(store)).toEqual([{ count: 1000 }]);
  });

  it('is written again where its records come again, for they may have come with more', async () => {
    const [{ database }] = stores as [TestStore];
    const claim = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
    const lease = (await claimLease(database, claim))!;
    const log = { ...sampleMessage({ created_at: String(START + 10) }), destination: null };
    const once = { ...sampleTransaction(), now: START + 10, in_msg: null, out_msgs: [], trace_id: null };
    const again = { ...once, out_msgs: [log], trace_id: `${'z'.repeat(42)}A=` };
    let fresh: Fresh | undefined = { after: START, but: new Map() };
    for (const [record, done] of [[once], [again, { span: SPAN, outcome: 'covered' }]] as const) {
      const { accepted, positions, rejected } = transactionsJob.read([record]);
      expect(rejected).toEqual([]);
      await commitPage(database, createPartitions(database, 'month'), {
        ...{ lease, rows: linesOfRecords(transactionsJob.tables, accepted, { fresh }), done },
        ...{ rejected: [], extras: [], ids: [], pages: [], replace: false, overwrite: false },
      });
      fresh = freshBehind(fresh, positions, done?.span.to);
    }
    const messages = sql`select count(*) as count from ton.messages`;
    expect(await database.rows(messages, Count)).toEqual([{ count: 1 }]);
    const traced = sql`select count(*) as count from ton.transactions where trace_id is not null`;
    expect(await database.rows(traced, Count)).toEqual([{ count: 1 }]);
  });

  it('is refused where its table drops some without an error', async () => {
    const [store] = stores as [TestStore];
    const { database } = store;
    const page = samplePage(SPAN, 1000);
    await database.script(`
      create function public.drop_some() returns trigger language plpgsql as $$
        begin return case when new.lt % 100 = 99 then null else new end; end $$;
      create trigger drop_some before insert on ton.transactions for each row execute function public.drop_some();`);
    await expect(commit(database, page)).rejects.toThrow('took 990 of 1000 rows without an error');
    expect(await stored(store)).toEqual([{ count: 0 }]);
    await database.script('drop trigger drop_some on ton.transactions');
    expect(await commit(database, page)).toBe(true);
    expect(await stored(store)).toEqual([{ count: 1000 }]);
  });

  it('takes the certificate from seconds that another dataset had verified', async () => {
    const [store] = stores as [TestStore];
    const { database } = store;
    const claim = { stream, wanted: [SPAN], length: () => 1000, owner: 'test', priority: 'backfill' };
    const lease = (await claimLease(database, claim))!;
    await database.run(sql`
      insert into etl.coverage (dataset, covered, verified)
      values ('transactions', ${`{[${SPAN.from},${SPAN.to})}`}, ${`{[${SPAN.from},${SPAN.to})}`})`);
    const middle = SPAN.from + 50;
    const rows = samplePage(SPAN, 100).map((lines) => lines.from(formatTime(middle)));
    await commitPage(database, createPartitions(database, 'month'), {
      ...{ lease, rows, rejected: [], extras: [], ids: [], pages: [] },
      ...{ replace: false, overwrite: false, done: undefined },
    });
    expect(await readVerified(database, stream)).toEqual([{ from: SPAN.from, to: middle }]);
    // Half of the rows were cut off.
    expect(await receipts(store)).toEqual([{ count: 50 }]);
  });

  it('goes by way of a staging table where the server reckons hashes of its own', async () => {
    const [store] = stores as [TestStore];
    await store.database.script(`
      alter function pg_catalog.hashtextextended(text, bigint) rename to hash_of_postgres;
      create function pg_catalog.hashtextextended(text, bigint) returns bigint
      immutable language sql as 'select 1::int8'`);
    const other = await openDatabase({ url: store.url, applicationName: 'other hashes' });
    try {
      expect(await commit(other, samplePage(SPAN, 1000))).toBe(false);
      const keys = sql`select sum(keys) as count from etl.receipts`;
      expect(await other.rows(keys, Count)).toEqual([{ count: 1000 }]);
      expect(await stored(store)).toEqual([{ count: 1000 }]);
    } finally {
      await other.close();
    }
  });

  it('goes by way of a staging table where row security is on', async () => {
    const [{ url, database }] = stores as [TestStore];
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
      expect(await commit(other, samplePage(SPAN, 1000))).toBe(false);
      expect(await stored({ ...stores[0]!, database })).toEqual([{ count: 1000 }]);
    } finally {
      await other.close();
      await database.script(`drop owned by ${role}; drop role ${role}`);
    }
  });
});
