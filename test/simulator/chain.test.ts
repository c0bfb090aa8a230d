import { describe, expect, test } from 'vitest';
import { BocMaker } from '../../src/simulator/network/chain/boc.ts';
import { Chain } from '../../src/simulator/http/server.ts';
import type { ChainOptions } from '../../src/simulator/network/chain/options.ts';
import { NONE } from '../../src/simulator/network/chain/tables/block-table.ts';
import { blockJson, type BlockJson } from '../../src/simulator/json/block-json.ts';
import { transactionJson, type TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import type { MessageJson } from '../../src/simulator/json/message-json.ts';

const START = 1_767_225_600;
const NO_HASH = 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

interface Network {
  readonly blocks: BlockJson[];
  readonly transactions: TransactionJson[];
  readonly chain: Chain;
}

function generate(options: ChainOptions): Network {
  const chain = new Chain({
    start: START,
    duration: 1200,
    load: 20,
    accounts: 400,
    ...options,
  }).extendToEnd();
  const { world } = chain;
  const bocs = new BocMaker(world.options.seed);
  const rows = Array.from({ length: world.transactions.count }, (_, row) => row);
  const blocks = Array.from({ length: world.blocks.count }, (_, row) => row).filter(
    (row) => world.blocks.tick.get(row) !== NONE,
  );
  return {
    chain,
    blocks: blocks.map((row) => blockJson(world, row)),
    transactions: rows
      .filter((row) => world.tickOf(row) !== NONE)
      .map((row) => transactionJson(world, bocs, row)),
  };
}

const idOf = (block: { workchain: number; shard: string; seqno: number }): string =>
  `${block.workchain}:${block.shard}:${block.seqno}`;
const network = generate({
  ties: [
    { second: START + 500, count: 150 },
    { second: START + 600, count: 300, of: 'jetton_transfers', sameLt: true },
    { second: START + 650, count: 300, of: 'jetton_burns' },
    { second: START + 700, count: 150, of: 'nft_transfers', sameLt: true },
    { second: START + 750, count: 900, of: 'nft_transfers' },
    { second: START + 801, count: 60, of: 'validator_events' },
    { second: START + 850, count: 200, of: 'pool_events' },
  ],
});

describe('blocks of a generated network', () => {
  test('masterchain seqnos are contiguous from the first on', () => {
    const seqnos = network.blocks.filter((block) => block.workchain === -1).map((block) => block.seqno);
    expect(seqnos).toEqual(seqnos.map((_, index) => index + 1));
    expect(seqnos.length).toBe(480);
  });

  test('every link to a parent leads to a block, or to seqno 0, and time and lt grow along it', () => {
    const byId = new Map(network.blocks.map((block) => [idOf(block), block]));
    expect(byId.size).toBe(network.blocks.length);
    for (const block of network.blocks) {
      expect(block.prev_blocks.length).toBe(block.after_merge ? 2 : 1);
      for (const id of block.prev_blocks) {
        const parent = byId.get(idOf(id));
        if (parent === undefined) expect(id.seqno).toBe(0);
        else {
          expect(Number(parent.gen_utime)).toBeLessThanOrEqual(Number(block.gen_utime));
          expect(Number(parent.end_lt)).toBeLessThan(Number(block.start_lt));
          expect(parent.masterchain_block_ref.seqno).toBeLessThanOrEqual(block.masterchain_block_ref.seqno);
        }
      }
    }
  });

  test('shards split into two children and merge from two parents', () => {
    const children = new Map<string, number>();
    for (const block of network.blocks)
      for (const id of block.prev_blocks) children.set(idOf(id), (children.get(idOf(id)) ?? 0) + 1);
    const split = network.blocks.filter((block) => block.before_split);
    expect(split.length).toBeGreaterThan(3);
    for (const block of split) expect(children.get(idOf(block))).toBe(2);
    expect(network.blocks.some((block) => block.after_merge)).toBe(true);
    expect(new Set(network.blocks.map((block) => block.shard)).size).toBeGreaterThan(5);
  });

  test('the tops of every masterchain block tile the basechain', () => {
    const { world } = network.chain;
    for (let tick = 0; tick < world.tickCount; tick++) {
      const tops = world.topsOf(tick).map((row) => blockJson(world, row));
      const share = tops
        .filter((top) => top.workchain === 0)
        .reduce((sum, top) => sum + 1 / 2 ** depth(top.shard), 0);
      expect(share).toBe(1);
      expect(tops.filter((top) => top.workchain === -1).length).toBe(1);
    }
  });

  test('tx_count is the number of transactions of the block, whose second they share', () => {
    const counts = new Map<string, number>();
    const byId = new Map(network.blocks.map((block) => [idOf(block), block]));
    const astray = network.transactions.filter((transaction) => {
      const id = idOf(transaction.block_ref);
      counts.set(id, (counts.get(id) ?? 0) + 1);
      const block = byId.get(id);
      if (block === undefined) return true;
      const [start, lt, end] = [block.start_lt, transaction.lt, block.end_lt].map(Number);
      return !(
        block.gen_utime === String(transaction.now) &&
        block.masterchain_block_ref.seqno === transaction.mc_block_seqno &&
        (start ?? 0) < (lt ?? 0) &&
        (lt ?? 0) < (end ?? 0)
      );
    });
    expect(astray).toEqual([]);
    const miscounted = network.blocks.filter((block) => (counts.get(idOf(block)) ?? 0) !== block.tx_count);
    expect(miscounted).toEqual([]);
  });
});

function depth(shard: string): number {
  return shard.length < 16 ? 0 : 63 - trailingZeros(BigInt(`0x${shard}`));
}

function trailingZeros(value: bigint): number {
  let zeros = 0;
  while (((value >> BigInt(zeros)) & 1n) === 0n) zeros++;
  return zeros;
}

describe('transactions of a generated network', () => {
  const nobody = `-1:${'0'.repeat(64)}`;
  const received = new Map<string, TransactionJson>();
  const sent = new Map<string, TransactionJson>();
  const byHash = new Map(network.transactions.map((transaction) => [transaction.hash, transaction]));
  for (const transaction of network.transactions) {
    if (transaction.in_msg !== null) received.set(transaction.in_msg.hash, transaction);
    for (const message of transaction.out_msgs) sent.set(message.hash, transaction);
  }
  const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
  const violations = (holds: (transaction: TransactionJson) => boolean): TransactionJson[] =>
    network.transactions.filter((transaction) => !holds(transaction));

  test('each account is a chain by prev_trans_lt and prev_trans_hash that begins with nothing', () => {
    const previous = new Map<string, TransactionJson>();
    const broken = violations((transaction) => {
      const before = previous.get(transaction.account);
      previous.set(transaction.account, transaction);
      if (transaction.orig_status === 'nonexist')
        return (
          same([transaction.prev_trans_lt, transaction.prev_trans_hash], ['0', NO_HASH]) &&
          (before?.end_status ?? 'nonexist') === 'nonexist'
        );
      return (
        before !== undefined &&
        transaction.prev_trans_hash === before.hash &&
        transaction.prev_trans_lt === before.lt &&
        transaction.orig_status === before.end_status &&
        Number(transaction.lt) > Number(before.lt) &&
        same(transaction.account_state_before, before.account_state_after)
      );
    });
    expect(broken).toEqual([]);
    expect(previous.size).toBeGreaterThan(700);
  });

  test('the balances agree in every transaction, extra currencies too', () => {
    const broken = violations(({ in_msg: message, out_msgs: out, total_fees, ...states }) => {
      const { account_state_before: before, account_state_after: after } = states;
      const spent = out.reduce(
        (sum, { value, fwd_fee, ihr_fee }) => sum + money(value) + money(fwd_fee) + money(ihr_fee),
        0n,
      );
      const left = money(before.balance) + money(message?.value) - money(total_fees) - spent;
      const extraSpent = out.reduce(
        (sum, { value_extra_currencies }) => sum + extra(value_extra_currencies),
        0n,
      );
      const extraLeft = extra(before.extra_currencies) + extra(message?.value_extra_currencies) - extraSpent;
      return left >= 0n && money(after.balance) === left && extra(after.extra_currencies) === extraLeft;
    });
    expect(broken).toEqual([]);
  });

  test('every internal message is received once, later, as the same object', () => {
    const arrives = (transaction: TransactionJson, message: MessageJson): boolean => {
      const receiver = received.get(message.hash);
      if (receiver === undefined || message.destination === null) return message.destination === null;
      return (
        same(receiver.in_msg, message) &&
        receiver.account === message.destination &&
        receiver.trace_id === transaction.trace_id &&
        Number(receiver.lt) > Number(message.created_lt) &&
        receiver.now >= transaction.now &&
        message.created_at === String(transaction.now)
      );
    };
    const broken = violations((transaction) =>
      transaction.out_msgs.every((message) => arrives(transaction, message)),
    );
    expect(broken).toEqual([]);
    const messages = network.transactions.filter((transaction) => transaction.in_msg !== null);
    expect(received.size).toBe(messages.length);
    const unsent = messages.filter(({ in_msg: message }) => !sent.has(message?.hash ?? ''));
    expect(
      unsent.every(({ in_msg: message }) => message?.source === null || message?.source === nobody),
    ).toBe(true);
  });

  test('a trace is named after its first transaction', () => {
    const broken = violations((transaction) => {
      const root = byHash.get(transaction.trace_id);
      return root?.trace_id === transaction.trace_id && Number(root.lt) <= Number(transaction.lt);
    });
    expect(broken).toEqual([]);
  });

  test('every documented member occurs somewhere', () => {
    const big = generate({ duration: 600, load: 30, seed: 7 });
    const descriptions = big.transactions.map((transaction) => transaction.description);
    const phases = ['storage_ph', 'credit_ph', 'compute_ph', 'action', 'bounce', 'split_info'] as const;
    for (const phase of phases)
      expect(descriptions.some((description) => description[phase] !== undefined)).toBe(true);
    expect(new Set(descriptions.map((description) => description.type))).toEqual(
      new Set(['ord', 'tick_tock', 'split_prepare', 'storage']),
    );
    const statuses = new Set(big.transactions.map((transaction) => transaction.end_status));
    expect(statuses).toEqual(new Set(['active', 'uninit', 'nonexist', 'frozen']));
    const text = JSON.stringify(descriptions);
    for (const word of [
      '"no_state"',
      '"no_gas"',
      '"exit_code":132',
      '"deleted"',
      '"skipped":true',
      '"exit_arg"',
      '"nofunds"',
      '"due_fees_collected"',
    ])
      expect(text.includes(word), word).toBe(true);
    const messages: MessageJson[] = big.transactions.flatMap((transaction) =>
      transaction.in_msg === null ? [...transaction.out_msgs] : [transaction.in_msg, ...transaction.out_msgs],
    );
    expect(messages.some((message) => message.init_state !== null)).toBe(true);
    expect(messages.some((message) => message.message_content.decoded !== null)).toBe(true);
    expect(messages.some((message) => message.destination === null)).toBe(true);
    expect(messages.some((message) => Object.keys(message.value_extra_currencies ?? {}).length > 0)).toBe(
      true,
    );
    expect(messages.some((message) => message.bounced === true)).toBe(true);
  });

  test('a transaction has the size of real ones', () => {
    const bytes = network.transactions.reduce(
      (sum, transaction) => sum + Buffer.byteLength(JSON.stringify(transaction)),
      0,
    );
    const sides = network.transactions.reduce(
      (sum, transaction) => sum + transaction.out_msgs.length + (transaction.in_msg === null ? 0 : 1),
      0,
    );
    expect(bytes / network.transactions.length).toBeGreaterThan(3800);
    expect(bytes / network.transactions.length).toBeLessThan(4800);
    expect(sides / network.transactions.length).toBeGreaterThan(1.5);
    expect(sides / network.transactions.length).toBeLessThan(2.1);
  });
});

function money(text: string | null | undefined): bigint {
  return BigInt(text ?? 0);
}

function extra(amounts: Readonly<Record<string, string>> | null | undefined): bigint {
  return Object.values(amounts ?? {}).reduce((sum, amount) => sum + BigInt(amount), 0n);
}

test('no balance of a quiet network exceeds what a number can hold', () => {
  const { chain } = generate({ duration: 9 * 86_400, load: 1000 / 86_400, masterchainInterval: 60 });
  const { transactions } = chain.world;
  const balances = Array.from({ length: transactions.count }, (_, row) => transactions.balance.get(row));
  expect(balances.length).toBeGreaterThan(8000);
  expect(balances.filter((balance) => !Number.isSafeInteger(balance))).toEqual([]);
});
