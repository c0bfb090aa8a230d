import { expect, it } from 'vitest';
import transactions from '../../../../jobs/transactions.ts';
import { contentOf, inside, readBody } from '../../../../src/crawl/streams/page/read-page.ts';
import { sampleTransaction } from '../../../support/samples/sample-records.ts';

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
  const { reading } = await readBody(transactions, body, () => Promise.resolve());
  const content = contentOf(transactions.tables, inside([reading], SPAN));
  const linesOf = (name: string) => content.rows.find(({ target }) => target.name === name);
  return {
    ...{ reading, content, lines: linesOf('transactions') },
    ...{ transactions: linesOf('transactions')?.count, messages: linesOf('messages')?.count },
  };
}

it('leaves out what lies behind the span', async () => {
  const { reading, content, ...rows } = await read([1, 2, 100].map((second) => recordAt(second)));
  expect(rows).toMatchObject({ transactions: 2, messages: 0 });
  expect(reading.positions).toHaveLength(3);
  expect(content.ids).toHaveLength(2);
});

it('splits the lines where a second begins', async () => {
  const { lines } = await read([1, 1, 2].map((second, index) => recordAt(second, { lt: String(index + 1) })));
  const parts = lines?.split(new Date((NOW + 2) * 1000).toISOString()) ?? [];
  expect(parts.map(({ count }) => count)).toEqual([2, 1]);
});
