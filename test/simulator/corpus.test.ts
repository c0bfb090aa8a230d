import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../support/simulator/simulator.ts';
import type { BlockJson } from '../../src/simulator/json/block-json.ts';
import { ask } from './ask.ts';
import { makeValidator } from './open-api.ts';
import { corpusFolder, hasCorpus, hasOpenapi, NO_CORPUS } from '../support/shared-data.ts';

describe.skipIf(!hasCorpus)(`recorded data (${NO_CORPUS} if they are absent)`, () => {
  const networks = [
    { network: 'mainnet', globalId: -239, transactions: 617, traces: 64 },
    { network: 'testnet', globalId: -3, transactions: 98, traces: 13 },
  ];

  test.each(networks)('$network is served whole', async ({ network, globalId, transactions, traces }) => {
    const simulator = await startSimulator({ corpus: join(corpusFolder, network) });
    const get = async <T>(path: string): Promise<T> =>
      (await (await fetch(simulator.url + path)).json()) as T;
    const info = await get<{ last: BlockJson; first: BlockJson }>('/api/v3/masterchainInfo');
    expect([info.last.global_id, info.first.global_id]).toEqual([globalId, globalId]);
    const page = await get<{ transactions: { now: number; mc_block_seqno: number }[] }>(
      `/api/v3/transactions?start_utime=${info.first.gen_utime}&end_utime=${info.last.gen_utime}&sort=asc&limit=1000`,
    );
    expect(page.transactions.length).toBe(transactions);
    const times = page.transactions.map((row) => row.now);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    const first = page.transactions[0];
    const inBlock = await get<{ transactions: unknown[] }>(
      `/api/v3/transactionsByMasterchainBlock?seqno=${first?.mc_block_seqno}&limit=1000`,
    );
    expect(inBlock.transactions).toContainEqual(first);
    expect(await get('/api/v3/blocks?sort=asc')).toEqual({ blocks: [] });
    const state = await get<{ blocks: BlockJson[] }>(
      `/api/v3/masterchainBlockShardState?seqno=${info.last.seqno}`,
    );
    expect(state.blocks.map((block) => block.workchain)).toEqual([-1, 0]);
    const found = await get<{ traces: { trace_id: string }[] }>('/api/v3/traces?sort=asc&limit=1000');
    expect(found.traces.length).toBe(traces);
    const messages = await get<{ messages: { in_msg_tx_hash?: string }[] }>(
      '/api/v3/messages?limit=1000&sort=asc',
    );
    expect(
      messages.messages.filter((message) => message.in_msg_tx_hash !== undefined).length,
    ).toBeGreaterThan(90);
    if (hasOpenapi) expect(makeValidator()('/api/v3/masterchainInfo', 200, info)).toBeUndefined();
    await simulator.close();
  });

  test('recorded transfers are served as they were recorded', async () => {
    const simulator = await startSimulator({ corpus: join(corpusFolder, 'responses') });
    const get = async (path: string): Promise<Record<string, Record<string, unknown>[]>> =>
      (await (await fetch(simulator.url + path)).json()) as Record<string, Record<string, unknown>[]>;
    const { jetton_transfers: [transfer] = [] } = await get(
      '/api/v3/jetton/transfers?sort=asc&start_utime=1',
    );
    expect(transfer?.['query_id']).toBe('1721068295');
    const owned = await get(`/api/v3/jetton/transfers?owner_address=${String(transfer?.['destination'])}`);
    expect(owned['jetton_transfers']).toEqual([transfer]);
    expect((await get('/api/v3/jetton/burns'))['jetton_burns']).toEqual([]);
    expect((await get('/api/v3/validators/events'))['events']).toEqual([]);
    await simulator.close();
  });

  test('a directory without recordings is refused', async () => {
    await expect(startSimulator({ corpus: join(corpusFolder, 'errors') })).rejects.toThrow(
      'holds no recorded transactions',
    );
    await expect(startSimulator({ corpus: '/nowhere' })).rejects.toThrow('There is no directory');
  });
});

test('recorded actions are served, within their traces and separately', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'recorded-'));
  const hash = (fill: number): string => Buffer.alloc(32, fill).toString('base64');
  const transaction = {
    account: `0:${'A'.repeat(64)}`,
    hash: hash(1),
    lt: '100',
    now: 1_767_225_600,
    mc_block_seqno: 5,
    block_ref: { workchain: 0, shard: '8000000000000000', seqno: 7 },
    in_msg: null,
    out_msgs: [],
  };
  const ends = { trace_end_lt: '100', trace_end_utime: 1_767_225_600, end_utime: 1_767_225_600 };
  const action = (id: number, type: string): object => ({
    trace_id: hash(1),
    action_id: hash(id),
    type,
    start_lt: '100',
    end_lt: '100',
    ...ends,
    transactions: [hash(1)],
    details: { anything: id },
  });
  const trace = {
    trace_id: hash(1),
    start_utime: 1_767_225_600,
    end_lt: '100',
    end_utime: 1_767_225_600,
    mc_seqno_end: '5',
    transactions: { [hash(1)]: transaction },
    actions: [action(2, 'ton_transfer')],
  };
  writeFileSync(join(directory, 'traces.jsonl'), JSON.stringify(trace));
  writeFileSync(join(directory, 'actions.json'), JSON.stringify({ actions: [action(3, 'call_contract')] }));
  const simulator = await startSimulator({ corpus: directory });
  const { body } = await ask(simulator, '/api/v3/actions?sort=asc&start_utime=1&include_accounts=true');
  expect(body.actions?.map((found) => found.details)).toEqual([{ anything: 2 }, { anything: 3 }]);
  const filtered = await ask(
    simulator,
    `/api/v3/actions?action_type=call_contract&account=${transaction.account}`,
  );
  expect(filtered.body.actions?.length).toBe(1);
  const inside = (await ask(simulator, '/api/v3/traces?include_actions=true')).body.traces?.[0];
  expect((inside as { actions?: unknown[] } | undefined)?.actions?.length).toBe(2);
  const plain = (await ask(simulator, '/api/v3/traces')).body.traces?.[0];
  expect(plain !== undefined && 'actions' in plain).toBe(false);
  await simulator.close();
  rmSync(directory, { recursive: true });
});
