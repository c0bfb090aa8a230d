import { afterEach, beforeEach, expect, it } from 'vitest';
import transactionsJob from '../../../jobs/transactions.ts';
import { MOST_HALVES } from '../../../src/dataset/fresh.ts';
import { freshOf } from '../../../src/db/coverage/fresh-range.ts';
import { createPartitions } from '../../../src/db/write/partitions.ts';
import { linesOfRecords } from '../../../src/db/write/rows/lines.ts';
import { ensurePartitions } from '../../../src/db/write/rows/rows-by-table.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';
import { writeRows } from '../../support/database/write-rows.ts';
import { sampleMessage, sampleTransaction } from '../../support/samples/sample-records.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const SPAN = { from: START, to: START + 100 };

let store: TestStore;
beforeEach(async () => {
  store = await openTestStore();
});
afterEach(() => store.close());

const fresh = () =>
  freshOf(store.database, { dataset: 'transactions', tables: transactionsJob.tables, span: SPAN });

/** Stores a message of the range by the transaction that received it, which lies behind the range. */
async function receive(created: number): Promise<void> {
  const message = sampleMessage({ created_at: String(START + created) });
  const record = { ...sampleTransaction(), now: SPAN.to + 5, in_msg: message, out_msgs: [] };
  const byTable = linesOfRecords(transactionsJob.tables, transactionsJob.read([record]).accepted);
  await ensurePartitions(createPartitions(store.database, 'month'), byTable);
  await store.database.transaction((session) => writeRows(session, byTable));
}

it('knows the messages of a range that another one has brought, and not what they hold', async () => {
  await receive(99);
  await receive(-1);
  const { after, halves } = (await fresh())!;
  expect(after).toBe(START - 1);
  expect([...halves!.values()]).toEqual([0]);
  expect([...halves!.keys()][0]).toMatch(/^messages 2026-03-01T00:01:39Z\|.{44}$/);
});

it('knows nothing of halves where there are too many', async () => {
  await receive(50);
  await store.database.script(`
    insert into ton.messages (utime, hash) select to_timestamp(${START + 1}), 'made up ' || n
    from generate_series(1, ${MOST_HALVES - 1}) n`);
  expect((await fresh())?.halves?.size).toBe(MOST_HALVES);
  await receive(51);
  expect(await fresh()).toEqual({ after: START - 1, but: new Map(), halves: undefined });
});

it('takes nothing for new where a trigger may change rows', async () => {
  await receive(50);
  await store.database.script(`
    create function public.change() returns trigger language plpgsql as $$ begin return new; end $$;
    create trigger told after insert on ton.transactions for each row execute function public.change()`);
  expect(await fresh()).toBeDefined();
  await store.database.script(`
    create trigger changed before insert on ton.messages for each row execute function public.change()`);
  expect(await fresh()).toBeUndefined();
  await store.database.script('alter table ton.messages disable trigger changed');
  expect(await fresh()).toBeDefined();
});
