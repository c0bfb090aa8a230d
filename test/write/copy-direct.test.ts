import { expect, test } from 'vitest';
import { linesOfRecords, linesOfRows } from '../../src/write/lines.ts';
import { splitOffNew } from '../../src/write/insert.ts';
import { giveMemory, takeMemory } from '../../src/dataset/bytes/view.ts';
import { formatTime } from '../../src/range.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import { readStreamsOf, select } from '../support/collections.ts';
import { openTestStore } from '../support/database/database.ts';
import { useNetwork } from '../support/network.ts';
import { thorough } from '../support/thorough.ts';
import { messageRow } from '../../src/records/transaction.ts';
import type { Put, Table } from '../../src/dataset/declaration/record.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const SPAN = { from: START, to: START + 100 };
const network = useNetwork({ start: START, duration: 400, seed: 3, load: 8, accounts: 300 });

const lineAt = (table: Table, second: number) =>
  linesOfRows(table, [{ utime: formatTime(START + second), hash: `${second}` }]);
const isDirect = (table: Table, second: number, newAfter = START + 10) =>
  splitOffNew([lineAt(table, second)], newAfter, { span: SPAN }).direct.length === 1;

test('rows are copied directly after the second in which the previous page ended; messages are not near the end of the lease', () => {
  expect([9, 10, 11, 69, 70, 99].map((second) => isDirect(messages, second))).toEqual([
    false,
    false,
    true,
    true,
    false,
    false,
  ]);
  expect([10, 11, 70, 99].map((second) => isDirect(transactions, second))).toEqual([false, true, true, true]);
  expect(splitOffNew([lineAt(messages, 20)], undefined, { span: SPAN }).direct).toEqual([]);
  // If a lease is shorter than the longest delivery of a message, no message is copied directly.
  const short = splitOffNew([lineAt(messages, 5)], START, { span: { from: START, to: START + 25 } });
  expect([short.direct.length, short.others.map(({ count }) => count)]).toEqual([0, [1]]);
});

test('a message is copied directly at the end of a lease if its page has both transactions that contain it', () => {
  const both = { source: `0:${'A'.repeat(64)}`, destination: `0:${'B'.repeat(64)}` };
  const at = (second: number, hash: string, ends: Partial<typeof both> = both) => ({
    put: (put: Put) => {
      const message = { hash, ...ends, created_at: START + second, created_lt: '1' };
      messageRow(message, { now: START + second, sender: null, extra: null }, put);
    },
  });
  const page = [
    at(80, 'both'),
    at(80, 'both'),
    at(80, 'sent'),
    at(81, 'from outside', { destination: both.destination }),
  ];
  const { direct, others } = splitOffNew(linesOfRecords({ messages }, page), START, { span: SPAN });
  const hashesOf = (lines: typeof direct) =>
    lines
      .flatMap(({ pieces }) => [...pieces()].flatMap((piece) => String(piece).trim().split('\n')))
      .map((line) => line.split('\t')[1]);
  expect(hashesOf(direct)).toEqual(['both', 'from outside']);
  expect(hashesOf(others)).toEqual(['sent']);
});

/** The rows of these tables after a crawl. */
async function digests(store: Awaited<ReturnType<typeof openTestStore>>): Promise<unknown[]> {
  const of = (table: string) =>
    `select '${table}' as name, count(*)::int as rows, md5(string_agg((to_jsonb(t) - 'loaded_at')::text, '' order by (to_jsonb(t) - 'loaded_at')::text)) as digest from ton.${table} t where utime < to_timestamp(${START + 300})`;
  return select(store, ['transactions', 'messages', 'traces', 'trace_nodes'].map(of).join(' union all '));
}

const HALVES = [
  { from: START, to: START + 150 },
  { from: START + 150, to: START + 300 },
];

thorough(
  'workers that bring the same messages at once, directly and through staging tables, store each once',
  async () => {
    const { url } = await network.serve();
    const alone = await openTestStore();
    const whole = { from: START, to: START + 300 };
    await readStreamsOf(alone, url, whole, ['transactions']);
    await readStreamsOf(alone, url, whole, ['traces']);
    await Promise.all([
      ...HALVES.map((half) => readStreamsOf(network.store, url, half, ['transactions'])),
      ...HALVES.toReversed().map((half) => readStreamsOf(network.store, url, half, ['traces'])),
    ]);
    const [expected, stored] = [await digests(alone), await digests(network.store)];
    await alone.close();
    expect(stored).toEqual(expected);
  },
);

test('the memory of a page is not reused before its rows are written', async () => {
  const { url } = await network.serve();
  const quiet = await openTestStore();
  await readStreamsOf(quiet, url, HALVES[0]!, ['transactions', 'traces']);
  // Takes and overwrites free memory, at every turn of the event loop.
  let [isOver, turns] = [false, 0];
  const spoil = () => {
    const taken = [16, 17, 18, 19, 20, 21].map((bits) => takeMemory(2 ** bits));
    for (const memory of taken) new Uint8Array(memory).fill(0xff);
    taken.forEach(giveMemory);
    turns += 1;
    if (!isOver) setImmediate(spoil);
  };
  spoil();
  await readStreamsOf(network.store, url, HALVES[0]!, ['transactions', 'traces']);
  isOver = true;
  const [expected, stored] = [await digests(quiet), await digests(network.store)];
  await quiet.close();
  expect(turns).toBeGreaterThan(50);
  expect(stored).toEqual(expected);
});
