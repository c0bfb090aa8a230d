import { expect, it } from 'vitest';
import transactions from '../../../../jobs/transactions.ts';
import { contentOf, inside, readBody } from '../../../../src/crawl/streams/page.ts';
import { sampleTransaction } from '../../../support/samples/sample-records.ts';

const NOW = 1_780_000_000;
const SPAN = { from: NOW, to: NOW + 100 };

const recordAt = (second: number, members: object = {}) => ({
  ...sampleTransaction(),
  ...{ in_msg: null, out_msgs: [], now: NOW + second, lt: String(second + 1) },
  hash: `${String(second).padStart(42, '0')}A=`,
  ...members,
});

/** Reads a page and returns how many rows of transactions and of messages it brings. */
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

it('leaves out rows after the range', async () => {
  const { reading, content, ...rows } = await read([1, 2, 100].map((second) => recordAt(second)));
  expect(rows).toMatchObject({ transactions: 2, messages: 0 });
  expect(reading.positions).toHaveLength(3);
  expect(content.ids).toHaveLength(2);
});

it('splits the lines at the start of seconds, in any part of them', async () => {
  const records = [1, 1, 2, 3, 3, 3].map((second, index) => recordAt(second, { lt: String(index + 1) }));
  const { lines } = await read(records);
  const at = (second: number) => new Date((NOW + second) * 1000).toISOString();
  const textOf = (pieces: Iterable<string | Buffer> = []) => [...pieces].map(String).join('');
  for (const [from, to, counts] of [
    [at(2), undefined, [4, 2]],
    [at(2), at(3), [1, 5]],
    [at(1), at(9), [6, 0]],
    [at(4), at(9), [0, 6]],
    [at(3), at(2), [0, 6]],
  ] as const) {
    const parts = lines?.split(({ time }) => time >= from && time < (to ?? '9')) ?? [];
    expect(parts.map(({ count }) => count)).toEqual(counts);
    const together = parts.map(({ pieces }) => textOf(pieces())).join('');
    expect(together.split('\n').sort()).toEqual(textOf(lines?.pieces()).split('\n').sort());
    const again = parts[1]?.split(({ time }) => time === at(1)).map(({ count }) => count);
    expect(again?.reduce((sum, count) => sum + count, 0)).toBe(counts[1]);
  }
});
