import { describe, expect, test } from 'vitest';
import { BocMaker } from '../../src/simulator/chain/boc.ts';
import { Chain } from '../../src/simulator/chain/chain.ts';
import type { ChainOptions } from '../../src/simulator/chain/options.ts';
import { NONE } from '../../src/simulator/chain/block-table.ts';
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
const network = generate({});

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
    for (const transaction of network.transactions) {
      const id = idOf(transaction.block_ref);
      counts.set(id, (counts.get(id) ?? 0) + 1);
      const block = byId.get(id);
      expect(block?.gen_utime).toBe(String(transaction.now));
      expect(block?.masterchain_block_ref.seqno).toBe(transaction.mc_block_seqno);
      expect(Number(transaction.lt)).toBeGreaterThan(Number(block?.start_lt));
      expect(Number(transaction.lt)).toBeLessThan(Number(block?.end_lt));
    }
    for (const block of network.blocks) expect(counts.get(idOf(block)) ?? 0).toBe(block.tx_count);
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
  const byAccount = new Map<string, TransactionJson[]>();
  for (const transaction of network.transactions) {
    const chain = byAccount.get(transaction.account) ?? [];
    byAccount.set(transaction.account, [...chain, transaction]);
  }

  test('each account is a chain by prev_trans_lt and prev_trans_hash that begins with nothing', () => {
    for (const chain of byAccount.values()) {
      let previous: TransactionJson | undefined;
      for (const transaction of chain) {
        if (transaction.orig_status === 'nonexist') {
          expect([transaction.prev_trans_lt, transaction.prev_trans_hash]).toEqual(['0', NO_HASH]);
          expect(previous?.end_status ?? 'nonexist').toBe('nonexist');
        } else {
          expect(transaction.prev_trans_hash).toBe(previous?.hash);
          expect(transaction.prev_trans_lt).toBe(previous?.lt);
          expect(transaction.orig_status).toBe(previous?.end_status);
          expect(transaction.account_state_before).toEqual(previous?.account_state_after);
        }
        if (previous !== undefined) expect(Number(transaction.lt)).toBeGreaterThan(Number(previous.lt));
        previous = transaction;
      }
    }
  });

  test('the books balance in every transaction, extra currencies too', () => {
    for (const transaction of network.transactions) {
      const {
        in_msg: received,
        out_msgs: sent,
        account_state_before: before,
        account_state_after: after,
      } = transaction;
      const spent = sent.reduce(
        (sum, { value, fwd_fee, ihr_fee }) => sum + money(value) + money(fwd_fee) + money(ihr_fee),
        0n,
      );
      const had = money(before.balance) + money(received?.value);
      expect(money(after.balance)).toBe(had - money(transaction.total_fees) - spent);
      expect(money(after.balance) >= 0n).toBe(true);
      const extraSpent = sent.reduce((sum, message) => sum + extra(message.value_extra_currencies), 0n);
      const extraHad = extra(before.extra_currencies) + extra(received?.value_extra_currencies);
      expect(extra(after.extra_currencies)).toBe(extraHad - extraSpent);
    }
  });

  test('every internal message is received once, later, as the same object', () => {
    const received = new Map<string, TransactionJson>();
    for (const transaction of network.transactions) {
      if (transaction.in_msg === null) continue;
      expect(received.has(transaction.in_msg.hash)).toBe(false);
      received.set(transaction.in_msg.hash, transaction);
    }
    const sent = new Set<string>();
    for (const transaction of network.transactions) {
      for (const message of transaction.out_msgs) {
        sent.add(message.hash);
        if (message.destination === null) continue;
        const receiver = received.get(message.hash);
        expect(receiver?.in_msg).toEqual(message);
        expect(receiver?.account).toBe(message.destination);
        expect(receiver?.trace_id).toBe(transaction.trace_id);
        expect(Number(receiver?.lt)).toBeGreaterThan(Number(message.created_lt));
        expect(receiver?.now).toBeGreaterThanOrEqual(transaction.now);
        expect(message.created_at).toBe(String(transaction.now));
      }
    }
    for (const [hash, transaction] of received) {
      const outside =
        transaction.in_msg?.source === null || transaction.in_msg?.source === `-1:${'0'.repeat(64)}`;
      expect(sent.has(hash)).toBe(!outside);
    }
  });

  test('a trace is named after its first transaction', () => {
    const byHash = new Map(network.transactions.map((transaction) => [transaction.hash, transaction]));
    for (const transaction of network.transactions) {
      const root = byHash.get(transaction.trace_id);
      expect(root?.trace_id).toBe(transaction.trace_id);
      expect(Number(root?.lt)).toBeLessThanOrEqual(Number(transaction.lt));
    }
  });

  test('everything that the description can say is said somewhere', () => {
    const big = generate({ duration: 2400, load: 40, seed: 5 });
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

  test('a transaction weighs what real ones do', () => {
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
