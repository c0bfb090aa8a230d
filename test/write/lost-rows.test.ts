import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as z from 'zod';
import transactionsJob from '../../jobs/transactions.ts';
import { transactions } from '../../src/tables/ton/transactions.ts';
import { createPartitions } from '../../src/write/target.ts';
import { linesOfRecords } from '../../src/write/lines.ts';
import { DAY, formatTime } from '../../src/range.ts';
import { openTestStore } from '../support/database/database.ts';
import { writeRows } from '../support/database/write-rows.ts';
import { sampleTransaction } from '../support/samples/sample-records.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const DAYS = 30;

/** Partitions of ton.transactions that this transaction has used, if only to plan a statement. */
const used = sql`
  select distinct c.relname as name from pg_locks l join pg_inherits i on i.inhrelid = l.relation join pg_class c on c.oid = l.relation
  where l.pid = pg_backend_pid() and i.inhparent = 'ton.transactions'::regclass order by 1`;
const Used = z.object({ name: z.string() });

test('stored rows are looked up in their own partitions, however many there are', async () => {
  const store = await openTestStore();
  const { database } = store;
  try {
    const days = Array.from({ length: DAYS }, (_, day) => formatTime(START + day * DAY));
    await createPartitions(database, 'day').ensure([transactions], days);
    const records = [3, 4].map((day) => ({
      ...sampleTransaction(),
      ...{ now: START + day * DAY, lt: String(day), in_msg: null, out_msgs: [], trace_id: null },
    }));
    const { accepted } = transactionsJob.read(records);
    const write = () =>
      database.transaction(async (session) => ({
        written: await writeRows(session, linesOfRecords(transactionsJob.tables, accepted)),
        used: await session.rows(used, Used),
      }));
    const own = [{ name: 'transactions_2026_03_04' }, { name: 'transactions_2026_03_05' }];
    expect(await write()).toEqual({ written: 2, used: own });
    expect(await write()).toEqual({ written: 0, used: own });
  } finally {
    await store.close();
  }
});
