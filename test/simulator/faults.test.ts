import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { jsonResponse } from '../../src/simulator/http/response.ts';
import type { BlockJson } from '../../src/simulator/json/block-json.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

const START = 1_767_225_600;
const SIZE = { start: START, duration: 900, load: 5, accounts: 60 } as const;

function clear(faults: Faults): void {
  for (const name of Object.keys(faults)) Reflect.deleteProperty(faults, name);
}

describe('faults, switched while the simulator runs', () => {
  let simulator: Simulator;
  const get = (path: string): Promise<Response> => fetch(simulator.url + path);
  const blocks = async (path: string): Promise<BlockJson[]> =>
    ((await (await get(path)).json()) as { blocks?: BlockJson[] }).blocks ?? [];
  const info = async (): Promise<{ last: BlockJson; first: BlockJson }> =>
    (await (await get('/api/v3/masterchainInfo')).json()) as { last: BlockJson; first: BlockJson };

  beforeAll(async () => {
    simulator = await startSimulator({ ...SIZE, headTime: START + 600 });
  });
  afterEach(() => {
    clear(simulator.faults);
    simulator.headTime = START + 600;
  });
  afterAll(() => simulator.close());

  test('a limit above what the server supports is a timeout', async () => {
    simulator.faults.timeoutAboveLimit = 250;
    const large = await get('/api/v3/transactions?limit=251');
    expect([large.status, await large.text()]).toEqual([
      500,
      '{"error":"timeout: context deadline exceeded"}',
    ]);
    expect((await get('/api/v3/transactions?limit=250')).status).toBe(200);
    const blocksReply = await get('/api/v3/blocks?limit=1000');
    expect(await blocksReply.text()).toBe('{"error":"internal server error: query timeout 3s"}');
    expect((await get('/api/v3/masterchainBlockShardState?seqno=5')).status).toBe(200);
  });

  test('timeouts, bad gateways and storms come at the configured rate', async () => {
    simulator.faults.timeout = 0.5;
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async () => (await get('/api/v3/transactions?limit=1')).status),
    );
    const failed = statuses.filter((status) => status === 500).length;
    expect(failed > 10 && failed < 50).toBe(true);
    clear(simulator.faults);
    simulator.faults.badGateway = 1;
    const bad = await get('/api/v3/transactions');
    expect([bad.status, bad.headers.get('content-type')]).toEqual([502, 'text/html']);
    clear(simulator.faults);
    simulator.faults.storm = { probability: 1, length: 3 };
    expect((await get('/api/v3/transactions')).status).toBe(429);
    simulator.faults.storm = { probability: 0, length: 3 };
    const after: number[] = [];
    for (let i = 0; i < 4; i++) after.push((await get('/healthcheck')).status);
    expect(after).toEqual([429, 429, 200, 200]);
  });

  test('connections are cut before the response and in its middle', async () => {
    simulator.faults.reset = 1;
    await expect(get('/api/v3/masterchainInfo')).rejects.toThrow();
    clear(simulator.faults);
    simulator.faults.resetInBody = 1;
    await expect(get('/api/v3/transactions?limit=200').then((reply) => reply.text())).rejects.toThrow();
    clear(simulator.faults);
    expect((await get('/healthcheck')).status).toBe(200);
  });

  test('JSON ends too early in a 200', async () => {
    simulator.faults.truncatedJson = 1;
    const reply = await get('/api/v3/transactions?limit=5');
    expect(reply.status).toBe(200);
    await expect(reply.json()).rejects.toThrow(SyntaxError);
  });

  test('a body comes slowly, and whole', async () => {
    Object.assign(simulator.faults, { slowBody: 1, slowBodyMs: 200 });
    const begin = performance.now();
    const reply = await get('/api/v3/transactions?limit=5');
    expect(((await reply.json()) as { transactions: unknown[] }).transactions.length).toBe(5);
    expect(performance.now() - begin).toBeGreaterThan(150);
  });

  test.each(['silentHead', 'silentBody', 'endlessHead', 'endlessBody', 'dribble'] as const)(
    '%s: no response comes to its end',
    async (name) => {
      simulator.faults[name] = 1;
      const reply = fetch(`${simulator.url}/api/v3/transactions?limit=5`, {
        signal: AbortSignal.timeout(300),
      });
      await expect(reply.then((response) => response.text())).rejects.toThrow();
      clear(simulator.faults);
      expect((await get('/healthcheck')).status).toBe(200);
    },
  );

  test('a reorganized block and its transactions have other hashes until its time has come, in every response', async () => {
    const hashes = async () => {
      const reply = await get(`/api/v3/transactions?start_utime=${START}&limit=200&sort=asc`);
      return ((await reply.json()) as { transactions: { hash: string }[] }).transactions.map(
        ({ hash }) => hash,
      );
    };
    const roots = async () =>
      (await blocks('/api/v3/blocks?workchain=0&limit=50&sort=asc')).map((block) => block.root_hash);
    const [settled, settledRoots] = [await hashes(), await roots()];
    simulator.faults.reorganise = { probability: 0.5, seconds: 3600 };
    const early = await hashes();
    const moved = early.filter((hash) => !settled.includes(hash));
    expect(moved.length).toBeGreaterThan(10);
    expect(moved.length).toBeLessThan(early.length - 10);
    expect((await roots()).filter((hash) => !settledRoots.includes(hash)).length).toBeGreaterThan(10);
    const named = async (hash: string) =>
      (await (await get(`/api/v3/traces?tx_hash=${encodeURIComponent(hash)}`)).text()).includes(hash);
    expect(await named(moved[0]!)).toBe(true);
    simulator.faults.reorganise.seconds = 0;
    expect(await hashes()).toEqual(settled);
    expect(await named(moved[0]!)).toBe(false);
  });

  test('a 200 of blocks holds only the first rows', async () => {
    const path = '/api/v3/blocks?limit=500&sort=asc';
    const whole = await blocks(path);
    simulator.faults.shortBlocks = 1;
    const short = await blocks(path);
    expect(short.length).toBeLessThan(whole.length);
    expect(short).toEqual(whole.slice(0, short.length));
  });

  test('a stale replica has an older head', async () => {
    const { last } = await info();
    Object.assign(simulator.faults, { stale: 1, staleSeconds: 60 });
    const stale = (await info()).last;
    expect(Number(last.gen_utime) - Number(stale.gen_utime)).toBeGreaterThan(50);
    expect((await get(`/api/v3/transactionsByMasterchainBlock?seqno=${last.seqno}`)).status).toBe(404);
  });

  test('late masterchain blocks leave holes below the head, which are filled when their time has come', async () => {
    simulator.faults.lateBlocks = { probability: 0.3, seconds: 60 };
    const seqnos = async (): Promise<number[]> =>
      (await blocks('/api/v3/blocks?workchain=-1&limit=1000&sort=asc')).map((block) => block.seqno);
    const { last } = await info();
    const seen = await seqnos();
    const missing = Array.from({ length: last.seqno }, (_, index) => index + 1).filter(
      (seqno) => !seen.includes(seqno),
    );
    expect(missing.length).toBeGreaterThan(2);
    const [hole] = missing;
    expect((await get(`/api/v3/transactionsByMasterchainBlock?seqno=${hole}`)).status).toBe(404);
    expect(await blocks(`/api/v3/blocks?mc_seqno=${hole}&sort=asc`)).toEqual([]);
    simulator.headTime = START + 700;
    const later = await seqnos();
    expect(missing.every((seqno) => later.includes(seqno))).toBe(true);
  });

  test('a hole lasts as long as configured, with everything that it registered', async () => {
    simulator.faults.holes = [{ from: 100, to: 102 }];
    const transactions = [...simulator.truth.transactions()].filter((row) => row.mc_block_seqno === 101);
    const page = await (
      await get(`/api/v3/transactions?hash=${encodeURIComponent(transactions[0]?.hash ?? '')}`)
    ).json();
    expect((page as { transactions: unknown[] }).transactions).toEqual([]);
    expect((await info()).last.seqno).toBeGreaterThan(102);
    clear(simulator.faults);
    const found = await (await get('/api/v3/transactionsByMasterchainBlock?seqno=101&limit=1000')).json();
    expect((found as { transactions: unknown[] }).transactions.length).toBe(transactions.length);
  });

  test('one child of a split is visible late: its state does not tile', async () => {
    const born = [...simulator.truth.blocks()].find(
      (block) => block.after_split && Number(block.gen_utime) > START + 20,
    )!;
    const split = Number(born.gen_utime);
    simulator.faults.lateSplit = { seconds: 40 };
    const shards = async (): Promise<string[]> => {
      const { last } = await info();
      return (await blocks(`/api/v3/masterchainBlockShardState?seqno=${last.seqno}`)).map(
        (block) => block.shard,
      );
    };
    simulator.headTime = split + 20;
    const during = await shards();
    simulator.headTime = split + 42;
    const afterwards = await shards();
    expect(during.length).toBeLessThan(afterwards.length);
  });
});

test('a lagging shard is registered late: its top is behind while other shards advance', async () => {
  const lags = [{ from: START + 300, to: START + 360 }];
  const simulator = await startSimulator({ ...SIZE, lags, headTime: START + 350 });
  const last = (await (await fetch(`${simulator.url}/api/v3/masterchainInfo`)).json()) as { last: BlockJson };
  const state = (await (
    await fetch(`${simulator.url}/api/v3/masterchainBlockShardState?seqno=${last.last.seqno}`)
  ).json()) as { blocks: BlockJson[] };
  const tops = state.blocks.map((block) => Number(block.gen_utime));
  expect(Math.max(...tops) - Math.min(...tops)).toBeGreaterThan(30);
  const lagging = state.blocks.find((block) => Number(block.gen_utime) === Math.min(...tops));
  simulator.truth.extendTo(START + 400);
  const hidden = [...simulator.truth.blocks()].filter(
    (block) =>
      block.shard === lagging?.shard &&
      Number(block.gen_utime) > Math.min(...tops) &&
      Number(block.gen_utime) < START + 350,
  );
  expect(hidden.length).toBeGreaterThan(5);
  expect(hidden.every((block) => block.masterchain_block_ref.seqno > last.last.seqno)).toBe(true);
  await simulator.close();
});

test('a test can respond in place of the server, and change its responses', async () => {
  const simulator = await startSimulator({
    ...SIZE,
    before: ({ path }) =>
      path === '/api/v3/messages' ? jsonResponse(200, '{"messages":[{"hash":9007199254740993}]}') : undefined,
    after: ({ path }, response) =>
      path === '/api/v3/transactions'
        ? {
            ...response,
            body: response.body.toString().replace('"emulated":false', '"emulated":"a\\u0000b"'),
          }
        : response,
  });
  expect(await (await fetch(`${simulator.url}/api/v3/messages`)).text()).toContain('9007199254740993');
  expect(await (await fetch(`${simulator.url}/api/v3/transactions?limit=1`)).text()).toContain(
    '"emulated":"a\\u0000b"',
  );
  expect((await fetch(`${simulator.url}/api/v3/masterchainInfo`)).status).toBe(200);
  await simulator.close();
});
