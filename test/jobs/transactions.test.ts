import { describe, expect, it } from 'vitest';
import job from '../../jobs/transactions.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import type { Rows } from '../../src/dataset/declaration/record.ts';
import { rebuildTransaction } from '../support/rebuild/rebuild.ts';
import { comparable } from '../support/rebuild/same-record.ts';
import {
  sampleExternal,
  sampleMessage,
  sampleTransaction,
  hashOf,
} from '../support/samples/sample-records.ts';
import { targetOf } from '../../src/write/target.ts';
import { hasCorpus, NO_CORPUS, recordedTransactions } from '../support/shared-data.ts';
import { asTextRow } from '../support/rebuild/text-row.ts';

type Json = Record<string, unknown>;

/** Reads one record that must fit, and returns its rows and the members that the schema does not name. */
function readOne(record: unknown): { rows: Rows; extra: object; transaction: Json; messages: Json[] } {
  const { accepted, rejected } = job.read([record]);
  expect(rejected).toEqual([]);
  const { rows, extra } = accepted[0]!;
  return {
    rows,
    extra,
    transaction: rows['transactions']![0] as Json,
    messages: rows['messages'] as Json[],
  };
}

/** A record that is read, and rebuilt from its rows alone. */
function thereAndBack(record: Json): unknown {
  const { transaction, messages: rows } = readOne(record);
  const row = asTextRow(transactions, transaction);
  const stored = rows.map((message) => asTextRow(messages, message));
  const sent = stored.slice(0, Number(row['out_msg_count'] ?? 0));
  const received = row['in_msg_hash'] == null ? undefined : stored.at(-1);
  expect(received?.['hash']).toEqual(row['in_msg_hash'] ?? undefined);
  expect(received?.['utime']).toEqual(row['in_msg_utime'] ?? undefined);
  return rebuildTransaction(row, received, sent.toReversed());
}

function expectUnchanged(record: Json): void {
  expect(comparable('transactions', thereAndBack(record))).toEqual(comparable('transactions', record));
}

function without(record: Json, name: string): Json {
  return Object.fromEntries(Object.entries(record).filter(([key]) => key !== name));
}

describe('jobs/transactions', () => {
  it('rebuilds a transaction with every documented member from its rows', () => {
    expectUnchanged(sampleTransaction({}, true));
    expectUnchanged(sampleTransaction({}, false));
  });

  it('fills every column of both tables except the time of loading', () => {
    const { rows } = readOne(sampleTransaction());
    for (const [name, table] of Object.entries({ transactions, messages })) {
      const filled = Object.keys(rows[name]![0]!).sort();
      expect(filled).toEqual([...targetOf(table).columns].sort());
    }
  });

  it('rebuilds transactions without phases, messages or states', () => {
    expectUnchanged(
      sampleTransaction({ in_msg: null, out_msgs: [], description: { type: 'tick_tock', is_tock: false } }),
    );
    expectUnchanged(
      sampleTransaction({
        account_state_before: null,
        account_state_after: { hash: hashOf('a'), balance: null },
      }),
    );
    expectUnchanged(
      sampleTransaction({
        out_msgs: null,
        total_fees_extra_currencies: null,
        block_ref: { workchain: 0, shard: null, seqno: 7 },
      }),
    );
  });

  it('keeps phases that were sent empty apart from phases that were not sent', () => {
    const empty = { storage_ph: {}, credit_ph: {}, compute_ph: {}, action: {}, bounce: {}, split_info: {} };
    expectUnchanged(sampleTransaction({ description: { type: 'ord', ...empty } }));
    expectUnchanged(
      sampleTransaction({
        description: {
          type: 'ord',
          action: { success: true, tot_msg_size: { cells: null, bits: null } },
          bounce: { type: 'ok', msg_size: {} },
        },
      }),
    );
    expect(
      readOne(sampleTransaction({ description: { type: 'ord', credit_ph: {} } })).transaction['extra'],
    ).toMatchObject({ 'description.credit_ph': {} });
  });

  it('keeps no extra currencies apart from unknown ones', () => {
    const { transaction } = readOne(sampleTransaction({ total_fees_extra_currencies: {} }));
    expect(transaction['total_fees_extra_currencies']).toEqual({});
    expectUnchanged(
      sampleTransaction({
        total_fees_extra_currencies: {},
        in_msg: sampleMessage({ value_extra_currencies: {} }),
      }),
    );
  });

  it('dates an external-in message by the transaction that received it', () => {
    const record = sampleTransaction({
      now: 1_760_000_000,
      in_msg: sampleExternal({ hash: hashOf('external') }),
    });
    const { transaction, messages: rows } = readOne(record);
    expect(transaction).toMatchObject({
      in_msg_hash: hashOf('external'),
      in_msg_utime: '2025-10-09T08:53:20Z',
    });
    expect(rows.at(-1)).toMatchObject({
      hash: hashOf('external'),
      utime: '2025-10-09T08:53:20Z',
      created_lt: null,
    });
    expectUnchanged(record);
  });

  it('keeps the time that a message states if it disagrees with its logical time', () => {
    expectUnchanged(sampleTransaction({ in_msg: sampleMessage({ created_at: null }) }));
    expectUnchanged(sampleTransaction({ in_msg: sampleMessage({ created_lt: null }) }));
  });

  it('writes what a transaction sent before what it received, and names the sender', () => {
    const out = [sampleMessage({ hash: hashOf('first') }), sampleMessage({ hash: hashOf('second') })];
    const received = sampleMessage({ hash: hashOf('received'), out_msg_tx_hash: null });
    const { messages: rows } = readOne(
      sampleTransaction({ hash: hashOf('me'), out_msgs: out, in_msg: received }),
    );
    expect(rows.map((row) => [row['hash'], row['out_msg_tx_hash']])).toEqual([
      [hashOf('first'), hashOf('me')],
      [hashOf('second'), hashOf('me')],
      [hashOf('received'), null],
    ]);
  });

  it('accepts the forms of the document next to those of the servers', () => {
    const { transaction, messages: rows } = readOne(
      sampleTransaction({
        finality: 2,
        out_msgs: [],
        in_msg: sampleMessage({ opcode: -1, created_at: 1_760_000_000 }),
      }),
    );
    expect(transaction).toMatchObject({ finality: 'finalized', in_msg_utime: '2025-10-09T08:53:20Z' });
    expect(rows[0]).toMatchObject({ opcode: '0xffffffff' });
    const opcodes = [0x12345678, '0xAB', 0, '0x00000000'].map(
      (opcode) =>
        readOne(sampleTransaction({ out_msgs: [], in_msg: sampleMessage({ opcode }) })).messages[0]![
          'opcode'
        ],
    );
    expect(opcodes).toEqual(['0x12345678', '0x000000ab', '0x00000000', '0x00000000']);
  });

  it('keeps undocumented members with the row that they belong to', () => {
    const grown = (record: Json): Json => ({ ...record, newborn: { big: [1] } });
    const record = grown(
      sampleTransaction({
        description: { type: 'ord', compute_ph: { type: 'vm', exit_code: 0 } },
        in_msg: grown(sampleMessage()),
        out_msgs: [sampleMessage(), grown(sampleMessage())],
        account_state_before: null,
        account_state_after: null,
      }),
    );
    const { transaction, messages: rows } = readOne(record);
    expect(transaction['extra']).toEqual({ newborn: { big: [1] }, 'description.compute_ph.type': 'vm' });
    expect(rows.map((row) => row['extra'])).toEqual([
      null,
      { newborn: { big: [1] } },
      { newborn: { big: [1] } },
    ]);
    expectUnchanged(record);
  });

  it('accepts records without what older servers leave out, but not without an identifier', () => {
    for (const name of [
      'finality',
      'emulated',
      'trace_id',
      'total_fees_extra_currencies',
      'account_state_after',
    ]) {
      expectUnchanged(without(sampleTransaction(), name));
    }
    for (const name of ['hash', 'lt', 'account', 'now', 'description', 'block_ref']) {
      const { rejected } = job.read([without(sampleTransaction(), name)]);
      expect(rejected).toMatchObject([{ path: name }]);
    }
  });

  it('stores other forms of a value in the one form of its column', () => {
    const sample = sampleTransaction();
    const plain = job.read([sample]).accepted[0]!.rows;
    const forms: Json[] = [
      { lt: `00${String(sample['lt'])}` },
      { now: String(sample['now']) },
      { hash: Buffer.from(String(sample['hash']), 'base64').toString('hex') },
      { account: String(sample['account']).toLowerCase() },
      { mc_block_seqno: String(sample['mc_block_seqno']) },
      { total_fees: BigInt(String(sample['total_fees'])) },
      { emulated: sample['emulated'] === true ? 1 : 0 },
    ];
    for (const changes of forms) {
      const { accepted, rejected } = job.read([{ ...sample, ...changes }]);
      expect(rejected).toEqual([]);
      expect(accepted[0]!.rows).toEqual(plain);
      expect(accepted[0]!.position).toEqual(job.read([sample]).positions[0]);
    }
  });

  it('rejects a value that its column could not take, with its path', () => {
    const refused: [Json, string][] = [
      [{ lt: '9223372036854775808' }, 'lt'],
      [{ lt: '12a' }, 'lt'],
      // Postgres prints it in another form: keys are hashed in their printed form.
      [{ prev_trans_lt: '-0' }, 'prev_trans_lt'],
      [{ mc_block_seqno: 2 ** 31 }, 'mc_block_seqno'],
      [{ total_fees: '1e9' }, 'total_fees'],
      [{ now: 2 ** 32 }, 'now'],
      [{ in_msg: sampleMessage({ value: '-' }) }, 'in_msg.value'],
      [{ in_msg: sampleMessage({ opcode: '0x123456789' }) }, 'in_msg.opcode'],
    ];
    for (const [changes, path] of refused) {
      expect(job.read([sampleTransaction(changes)]).rejected).toMatchObject([{ path }]);
    }
  });

  it('takes the largest values that the chain can have', () => {
    expectUnchanged(sampleTransaction({ lt: '9223372036854775807', total_fees: '9'.repeat(38) }));
  });

  it('reads the position of a record that its schema refuses', () => {
    const [first, second] = [
      sampleTransaction({ hash: hashOf('a'), now: 1_760_000_000, lt: '5' }),
      sampleTransaction({ hash: hashOf('b'), now: 1_760_000_001, lt: '7', total_fees: null }),
    ];
    const reading = job.read([first, second]);
    expect(reading.positions).toEqual([
      { utime: 1_760_000_000, lt: '5', id: hashOf('a') },
      { utime: 1_760_000_001, lt: '7', id: hashOf('b') },
    ]);
    expect(reading.rejected).toHaveLength(1);
    expect(reading.accepted).toHaveLength(1);
  });

  it('refuses a transaction with a message that is dated after it, and keeps it as it came', () => {
    const now = 1_760_000_000;
    const sent = (created_at: number) =>
      sampleTransaction({ now, out_msgs: [sampleMessage({ created_at: String(created_at) })] });
    const late = sent(now + 1);
    const { accepted, rejected } = job.read([sent(now), late, sent(now - 1)]);
    expect(accepted.map(({ index }) => index)).toEqual([0, 2]);
    expect(rejected).toMatchObject([{ path: 'utime', span: { from: now, to: now + 1 }, raw: late }]);
  });
});

/** Members of the two oldest recordings that no server sends today. */
const OUTDATED = ['description.compute_ph.type'];

describe.skipIf(!hasCorpus)(`jobs/transactions on recorded data${hasCorpus ? '' : ` (${NO_CORPUS})`}`, () => {
  const records = hasCorpus ? recordedTransactions() : [];

  it('accepts every recorded transaction and knows every member', () => {
    const { accepted, rejected } = job.read(records);
    expect(rejected).toEqual([]);
    expect(accepted.length).toBe(records.length);
    expect(records.length).toBeGreaterThan(700);
    const unknown = new Set(accepted.flatMap(({ extra }) => Object.keys(extra)));
    expect([...unknown]).toEqual(OUTDATED);
  });

  it('rebuilds every recorded transaction with its messages, member by member', () => {
    for (const record of records) expectUnchanged(record);
  });

  it('gives both halves of a message one key, and an external message a row for each receipt', () => {
    const rows = job.read(records).accepted.flatMap(({ rows: found }) => found['messages'] as Json[]);
    const keys = (some: Json[]): number =>
      new Set(some.map((row) => String([row['hash'], row['utime']]))).size;
    const hashes = (some: Json[]): number => new Set(some.map((row) => row['hash'])).size;
    const internal = rows.filter((row) => row['source'] != null);
    const external = rows.filter((row) => row['source'] == null);
    expect(keys(internal)).toBe(hashes(internal));
    expect(keys(internal)).toBeLessThan(internal.length);
    expect(keys(external)).toBe(external.length);
    expect(hashes(external)).toBeLessThan(external.length);
  });
});
