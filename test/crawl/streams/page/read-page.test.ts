import { expect, it } from 'vitest';
import { guardKey } from '../../../../src/api/response/key-guard.ts';
import transactions from '../../../../jobs/transactions.ts';
import { readPage } from '../../../../src/crawl/streams/page/read-page.ts';
import { freshBehind, type Fresh } from '../../../../src/dataset/fresh.ts';
import { sampleTransaction } from '../../../support/samples/sample-records.ts';

const NOW = 1_780_000_000;
const SPAN = { from: NOW, to: NOW + 100 };

/** Each call makes another one. */
const sample = sampleTransaction();

const recordAt = (second: number, members: object = {}) => ({
  ...sample,
  ...{ in_msg: null, out_msgs: [], now: NOW + second, lt: String(second + 1) },
  hash: `${String(second).padStart(42, '0')}A=`,
  ...members,
});

/** Reads a page; the rows of transactions that it brings as new ones, and as others. */
async function read(records: readonly object[], fresh: Fresh | undefined, span = SPAN) {
  const body = Buffer.from(JSON.stringify({ transactions: records }));
  const page = await readPage(body, {
    ...{ job: transactions, span, fresh },
    key: guardKey(undefined),
    turn: () => Promise.resolve(),
  });
  const own = page.tables[Object.keys(transactions.tables).indexOf('transactions')]!;
  return { page, fresh: own.fresh.count, others: own.others.count };
}

/** What is fresh behind a page of the seconds 1 and 2, and of one behind the range. */
async function behindFirst(): Promise<Fresh> {
  const first = await read(
    [1, 2, 100].map((second) => recordAt(second)),
    { after: NOW, but: new Map() },
  );
  expect(first).toMatchObject({ fresh: 2, others: 0 });
  return freshBehind({ after: NOW, but: new Map() }, first.page.positions, NOW + 2, first.page.digests)!;
}

it('leaves out the record with which the page before ended', async () => {
  const again = await read([recordAt(2), recordAt(3)], await behindFirst());
  expect(again).toMatchObject({ fresh: 1, others: 0 });
  expect(again.page.ids).toHaveLength(2);
});

it.each([
  { what: 'with more than before', record: recordAt(2, { emulated: !sample['emulated'] }) },
  { what: 'in another form', record: recordAt(2, { unknown_member: 1 }) },
])('writes it again where it comes $what', async ({ record }) => {
  expect(await read([record, recordAt(3)], await behindFirst())).toMatchObject({ fresh: 1, others: 1 });
});

it('does not take for written what lay behind the range', async () => {
  const fresh = await behindFirst();
  const wider = { ...fresh, after: NOW + 100 };
  expect([...fresh.but.values()].filter((digest) => digest !== undefined)).toHaveLength(1);
  expect(await read([recordAt(99)], wider)).toMatchObject({ fresh: 0, others: 1 });
  const further = { from: SPAN.from, to: SPAN.to + 100 };
  expect(await read([recordAt(2), recordAt(100)], fresh, further)).toMatchObject({ fresh: 0, others: 1 });
});

it('remembers nothing where nothing is known to be new', async () => {
  expect((await read([recordAt(1)], undefined)).page.digests.size).toBe(0);
});
