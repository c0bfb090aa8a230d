import { describe, expect, it } from 'vitest';
import { guardKey } from '../../../../src/api/response/key-guard.ts';
import transactions from '../../../../jobs/transactions.ts';
import { readPage } from '../../../../src/crawl/streams/page/read-page.ts';
import { freshBehind, type Fresh } from '../../../../src/dataset/fresh.ts';
import { sampleMessage, sampleTransaction } from '../../../support/samples/sample-records.ts';

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
  const of = (name: string) => page.tables[Object.keys(transactions.tables).indexOf(name)]!;
  const [own, messages] = [of('transactions'), of('messages')];
  return {
    page,
    ...{ fresh: own.fresh.count, others: own.others.count },
    messages: [messages.fresh.count, messages.others.count],
  };
}

/** What is fresh behind a page of the seconds 1 and 2, and of one behind the range. */
async function behindFirst(): Promise<Fresh> {
  const first = await read(
    [1, 2, 100].map((second) => recordAt(second)),
    { after: NOW, but: new Map() },
  );
  expect(first).toMatchObject({ fresh: 2, others: 0 });
  return freshBehind({ after: NOW, but: new Map() }, first.page.positions, NOW + 2, first.page.brought)!;
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
  expect((await read([recordAt(1)], undefined)).page.brought.digests.size).toBe(0);
});

describe('a message between two pages', () => {
  const message = sampleMessage({ created_at: String(NOW + 1), created_lt: '2', decoded_opcode: null });
  const sent = recordAt(1, { out_msgs: [message] });
  const received = (members: object = {}) => recordAt(8, { in_msg: { ...message, ...members } });

  /** What is fresh behind the page with its sender. */
  async function behindSender(): Promise<Fresh> {
    const fresh: Fresh = { after: NOW, but: new Map(), halves: new Map() };
    const { page, messages } = await read([sent], fresh);
    expect(messages).toEqual([1, 0]);
    return freshBehind(fresh, page.positions, NOW + 2, page.brought)!;
  }

  it("is written with the sender's, and not again with the receiver's", async () => {
    const fresh = await behindSender();
    expect(fresh.halves?.size).toBe(1);
    const { page, messages } = await read([received()], fresh);
    expect(messages).toEqual([0, 0]);
    expect(freshBehind(fresh, page.positions, NOW + 9, page.brought)?.halves?.size).toBe(0);
  });

  it("is staged with the receiver's, where that has more", async () => {
    const { messages } = await read([received({ decoded_opcode: 'decoded_later' })], await behindSender());
    expect(messages).toEqual([0, 1]);
  });

  it('is staged with both, where the range ends soon', async () => {
    const fresh: Fresh = { after: NOW, but: new Map(), halves: new Map() };
    const soon = { from: NOW, to: NOW + 31 };
    expect((await read([sent], fresh, soon)).messages).toEqual([0, 1]);
    expect((await read([received()], fresh, soon)).messages).toEqual([0, 1]);
  });
});
