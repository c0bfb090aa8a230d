import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startSimulator } from '../../src/simulator/server.ts';
import type { BlockJson } from '../../src/simulator/json/block-json.ts';
import { hasOpenApi, makeValidator } from './open-api.ts';

const CORPUS = join(import.meta.dirname, '../../../shared/corpus');

describe.skipIf(!existsSync(CORPUS))('recorded data (skipped without ../shared/corpus)', () => {
  const networks = [
    { network: 'mainnet', globalId: -239, transactions: 617, traces: 64 },
    { network: 'testnet', globalId: -3, transactions: 98, traces: 13 },
  ];

  test.each(networks)('$network is served whole', async ({ network, globalId, transactions, traces }) => {
    const simulator = await startSimulator({ corpus: join(CORPUS, network) });
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
    if (hasOpenApi) expect(makeValidator()('/api/v3/masterchainInfo', 200, info)).toBeUndefined();
    await simulator.close();
  });

  test('a directory without recordings is refused', async () => {
    await expect(startSimulator({ corpus: join(CORPUS, 'errors') })).rejects.toThrow(
      'holds no recorded transactions',
    );
    await expect(startSimulator({ corpus: '/nowhere' })).rejects.toThrow('There is no directory');
  });
});
