import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import blocksJob from '../../jobs/blocks.ts';
import transactionsJob from '../../jobs/transactions.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import { openPageStore, type PageStore } from '../support/database/page-store.ts';
import { rebuildBlock, rebuildTransaction } from '../support/rebuild/rebuild.ts';
import { comparable, sameRecord } from '../support/rebuild/same-record.ts';
import {
  sampleBlock,
  sampleExternal,
  sampleMessage,
  sampleTransaction,
} from '../support/samples/sample-records.ts';
import { hasCorpus, NO_CORPUS, recordedBlocks, recordedTransactions } from '../support/shared-data.ts';
import type { TextRow } from '../support/rebuild/text-row.ts';

type Json = Record<string, unknown>;

let store: PageStore;

beforeAll(async () => {
  store = await openPageStore();
});
afterAll(() => store.close());

async function storedTransaction(hash: unknown): Promise<unknown> {
  const [row] = await store.read(transactions, 'hash = $1', [hash]);
  const [received] = await store.read(messages, 'hash = $1 and utime = $2', [
    row!['in_msg_hash'],
    row!['in_msg_utime'],
  ]);
  const sent = await store.read(messages, 'out_msg_tx_hash = $1 and utime = $2', [hash, row!['utime']]);
  return rebuildTransaction(row!, received, sent);
}

/** Rebuilds any stored transaction from all rows, which are fetched at once. */
async function rebuilder(): Promise<(hash: unknown) => unknown> {
  const allMessages = await store.read(messages, 'true', []);
  const byKey = new Map(allMessages.map((row) => [`${row['hash']} ${row['utime']}`, row]));
  const bySender = new Map<unknown, TextRow[]>();
  for (const row of allMessages) {
    const sender = row['out_msg_tx_hash'];
    bySender.set(sender, [...(bySender.get(sender) ?? []), row]);
  }
  const byHash = new Map((await store.read(transactions, 'true', [])).map((row) => [row['hash'], row]));
  return (hash) => {
    const row = byHash.get(String(hash))!;
    const received = byKey.get(`${row['in_msg_hash']} ${row['in_msg_utime']}`);
    return rebuildTransaction(row, received, bySender.get(row['hash']) ?? []);
  };
}

async function storedBlock({ workchain, shard, seqno }: Json): Promise<unknown> {
  const where = 'workchain = $1 and shard = $2 and seqno = $3';
  const [row] = await store.read(blocks, where, [workchain, shard, seqno]);
  const parents = await store.read(block_parents, where, [workchain, shard, seqno]);
  return rebuildBlock(row!, parents);
}

async function expectStored(record: Json): Promise<void> {
  const stored = await storedTransaction(record['hash']);
  expect(comparable('transactions', stored)).toEqual(comparable('transactions', record));
}

describe('rows in Postgres', () => {
  it('rebuild a transaction with every documented member', async () => {
    const now = 1_760_000_000;
    const out = { created_at: String(now) };
    const records = [true, false].map((flag) =>
      sampleTransaction({ now, out_msgs: [sampleMessage(out), sampleMessage(out)] }, flag),
    );
    records.push(sampleTransaction({ now, in_msg: sampleExternal(), out_msgs: [] }));
    await store.write(transactionsJob, records);
    for (const record of records) await expectStored(record);
  });

  it('rebuild a block with every documented member', async () => {
    const block = sampleBlock();
    await store.write(blocksJob, [block]);
    expect(comparable('blocks', await storedBlock(block))).toEqual(comparable('blocks', block));
  });

  it('keep the largest values, empty objects and unknown members digit by digit', async () => {
    const record = sampleTransaction({
      lt: '9223372036854775807',
      total_fees: '9'.repeat(38),
      total_fees_extra_currencies: {},
      description: { type: 'ord', credit_ph: {}, action: { success: true, tot_msg_size: {} } },
      newborn: ['1', { a: null }],
      in_msg: sampleMessage({ value: '-1', value_extra_currencies: {}, newborn: 'x' }),
      out_msgs: [],
    });
    await store.write(transactionsJob, [record]);
    await expectStored(record);
  });

  it('do not change when a page is written again', async () => {
    const records = [sampleTransaction(), sampleTransaction()];
    expect(await store.write(transactionsJob, records)).toBeGreaterThan(2);
    expect(await store.write(transactionsJob, records)).toBe(0);
  });

  it('are one row for a message, whichever half comes first', async () => {
    const at = { created_at: '1760000500' };
    const halves = [sampleMessage(at), sampleMessage(at)].map((message) => ({
      ...message,
      out_msg_tx_hash: null,
    }));
    for (const [index, message] of halves.entries()) {
      const sender = sampleTransaction({ now: 1_760_000_500, out_msgs: [message], in_msg: null });
      const receiver = sampleTransaction({ now: 1_760_000_503, out_msgs: [], in_msg: message });
      await store.write(transactionsJob, [index === 0 ? sender : receiver]);
      await store.write(transactionsJob, [index === 0 ? receiver : sender]);
      const rows = await store.read(messages, 'hash = $1', [(message as Json)['hash']]);
      expect(rows).toHaveLength(1);
      expect(rows[0]!['out_msg_tx_hash']).toBe(sender['hash']);
      await expectStored(sender);
      await expectStored(receiver);
    }
  });

  it('take what a lagging server sends later, and never lose it again', async () => {
    const whole = sampleTransaction({ out_msgs: [] });
    const message = {
      ...(whole['in_msg'] as Json),
      message_content: null,
      init_state: null,
      decoded_opcode: null,
    };
    const shell = { hash: (whole['account_state_after'] as Json)['hash'] };
    const early = { ...whole, trace_id: null, in_msg: message, account_state_after: shell };
    await store.write(transactionsJob, [early]);
    await store.write(transactionsJob, [whole]);
    // Code and data of a state have no column: they came too late for `extra`, which already has another
    // value.
    const { hash, balance, extra_currencies, account_status, frozen_hash, data_hash, code_hash } = whole[
      'account_state_after'
    ] as Json;
    const after = { hash, balance, extra_currencies, account_status, frozen_hash, data_hash, code_hash };
    await store.write(transactionsJob, [early]);
    await expectStored({ ...whole, account_state_after: after });
  });
});

describe.skipIf(!hasCorpus)(`recorded data in Postgres${hasCorpus ? '' : ` (${NO_CORPUS})`}`, () => {
  it('is rebuilt from the rows of all records together, member by member', async () => {
    const records = recordedTransactions();
    await store.write(transactionsJob, records);
    const rebuild = await rebuilder();
    const filled = records.filter((record) => {
      const stored = rebuild(record['hash']);
      if (sameRecord('transactions', stored, record)) return false;
      // No value that was sent differs: the other half of a message has the members that this one left out.
      expect(stored).toMatchObject(comparable('transactions', record) as Json);
      return true;
    });
    expect(filled.length).toBeLessThanOrEqual(1);
  });

  it('holds every recorded block', async () => {
    const records = recordedBlocks();
    await store.write(blocksJob, records);
    for (const block of records) {
      expect(comparable('blocks', await storedBlock(block))).toEqual(comparable('blocks', block));
    }
  });
});
