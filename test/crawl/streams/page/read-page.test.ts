import { expect, it } from 'vitest';
import { guardKey } from '../../../../src/api/response/key-guard.ts';
import transactions from '../../../../jobs/transactions.ts';
import { readPage } from '../../../../src/crawl/streams/page/read-page.ts';
import { sampleMessage, sampleTransaction } from '../../../support/samples/sample-records.ts';

const NOW = 1_780_000_000;
const SPAN = { from: NOW, to: NOW + 100 };

const recordAt = (second: number, members: object = {}) => ({
  ...sampleTransaction(),
  ...{ in_msg: null, out_msgs: [], now: NOW + second, lt: String(second + 1) },
  hash: `${String(second).padStart(42, '0')}A=`,
  ...members,
});

/** Reads a page; how many rows it brings of transactions and of messages. */
async function read(records: readonly object[]) {
  const body = Buffer.from(JSON.stringify({ transactions: records }));
  const how = { job: transactions, span: SPAN, key: guardKey(undefined), turn: () => Promise.resolve() };
  const page = await readPage(body, how);
  const countOf = (name: string) => page.tables[Object.keys(transactions.tables).indexOf(name)]?.count;
  return { page, transactions: countOf('transactions'), messages: countOf('messages') };
}

it('leaves out what lies behind the span', async () => {
  const { page, ...rows } = await read([1, 2, 100].map((second) => recordAt(second)));
  expect(rows).toEqual({ transactions: 2, messages: 0 });
  expect(page.positions).toHaveLength(3);
  expect(page.ids).toHaveLength(2);
});

it('marks where the lines of each second begin', async () => {
  const { page } = await read([1, 1, 2].map((second, index) => recordAt(second, { lt: String(index + 1) })));
  const times = page.tables[0]?.times.map(({ time, line }) => [Date.parse(time) / 1000 - NOW, line]);
  expect(times).toEqual([
    [1, 0],
    [2, 2],
  ]);
});

it('brings a message once, which both sides tell of', async () => {
  const message = sampleMessage({ created_at: String(NOW + 1), created_lt: '2' });
  const rows = await read([recordAt(1, { out_msgs: [message] }), recordAt(8, { in_msg: message })]);
  expect(rows).toMatchObject({ transactions: 2, messages: 1 });
});
