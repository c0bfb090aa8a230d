import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ApiClient } from '../../src/api/client.ts';
import { createNetworkGuard, type NetworkGuard } from '../../src/crawl/source-guard.ts';
import { EXIT, WrongNetworkError } from '../../src/errors.ts';
import { json, startFakeApi, type FakeApi, type HttpResponse } from '../api/fake-api.ts';
import { never } from '../support/crawl.ts';

const [MAINNET, TESTNET] = [-239, -3];

let fake: FakeApi;
let api: ApiClient;
let network: NetworkGuard;
const time = { ms: 0 };

beforeEach(async () => {
  fake = await startFakeApi();
  time.ms = 0;
  const clock = { monotonic: () => time.ms };
  ({ api, network } = createNetworkGuard({
    api: fake.client(),
    clock,
    held: MAINNET,
    signal: never.leaving,
  }));
});
afterEach(() => fake.close());

const block = (globalId: number | undefined) => ({ seqno: 1, gen_utime: '1700000000', global_id: globalId });
const info = (globalId: number) => json({ first: block(globalId), last: block(globalId) });
const blocks = (...globalIds: (number | undefined)[]) => json({ blocks: globalIds.map(block) });

const get = (path: string) => api.get({ path, priority: 'tail', parse: (body) => body });
const getBytes = (path: string) =>
  api.get({
    path,
    priority: 'tail',
    readBytes: (body) => Promise.resolve(body.toString()),
  });

test('a reader of a block of another network gets an error that names both networks, and that a person has to act', async () => {
  fake.answer(blocks(MAINNET, TESTNET));
  const read = get('/api/v3/blocks');
  await expect(read).rejects.toThrow(WrongNetworkError);
  await expect(read).rejects.toMatchObject({
    message: 'the database holds mainnet, the API serves testnet: one database holds one network',
    hint: expect.stringContaining('TONCENTER_NETWORK') as string,
    exitCode: EXIT.usage,
  });
  // It is not retried, although a bad response is.
  expect(fake.seen).toHaveLength(1);
});

test.each(['/api/v3/blocks', '/api/v3/masterchainBlockShardState', '/api/v3/masterchainBlockShards'])(
  'blocks of %s name the network, even if they are read from their bytes',
  async (path) => {
    fake.answer(blocks(MAINNET, undefined), blocks(MAINNET), blocks(MAINNET, TESTNET));
    await get(path);
    expect((await getBytes(path)).value).toContain('global_id');
    await expect(getBytes(path)).rejects.toThrow(WrongNetworkError);
  },
);

test('what other endpoints call a network is data', async () => {
  fake.answer(blocks(TESTNET));
  await get('/api/v3/transactions');
  await getBytes('/api/v3/traces');
  await network.confirm();
});

test('the network is requested if no block has named it for a minute, once for all that wait', async () => {
  const watch = network.begin();
  time.ms = 44_000;
  await watch.confirm();
  fake.answer(blocks(MAINNET), info(MAINNET), info(TESTNET));
  await get('/api/v3/blocks');
  time.ms = 88_000;
  await watch.confirm();
  expect(fake.seen).toHaveLength(1);
  time.ms = 105_000;
  await Promise.all([watch.confirm(), network.confirm(), network.begin().confirm()]);
  expect(fake.seen).toHaveLength(2);
  time.ms = 166_000;
  await expect(watch.confirm()).rejects.toThrow(WrongNetworkError);
});

describe('a chain whose first block is known', () => {
  const HASH = 'A'.repeat(43) + '=';
  const chainInfo = (first: object) => json({ first: { ...block(MAINNET), ...first }, last: block(MAINNET) });
  const own = chainInfo({ seqno: 1, root_hash: HASH });
  const restarted = chainInfo({ seqno: 1, root_hash: `B${HASH.slice(1)}` });
  const guardOf = () =>
    createNetworkGuard({
      api: fake.client(),
      clock: { monotonic: () => time.ms },
      held: MAINNET,
      first: { seqno: 1, rootHash: HASH },
      signal: never.leaving,
    });

  test('a restarted chain is noticed within a minute, even if its blocks name the same network', async () => {
    const guard = guardOf();
    const watch = guard.network.begin();
    fake.answer(blocks(MAINNET), own, blocks(MAINNET), restarted, restarted, own);
    const read = () => guard.api.get({ path: '/api/v3/blocks', priority: 'tail', parse: (body) => body });
    await read();
    time.ms = 61_000;
    await watch.confirm();
    expect(fake.seen).toHaveLength(2);
    time.ms = 120_000;
    await read();
    time.ms = 122_000;
    await expect(watch.confirm()).rejects.toThrow(WrongNetworkError);
    await expect(watch.confirm()).rejects.toThrow(WrongNetworkError);
    // Nothing is read before its own network is back.
    await expect(guard.network.begin().confirm()).rejects.toThrow(WrongNetworkError);
    await guard.network.begin().confirm();
  });

  test.each([503, 500, 'reset'] as const)(
    'a restarted chain is noticed before the next commit if a request failed meanwhile (%s)',
    async (failure) => {
      const guard = guardOf();
      const watch = guard.network.begin();
      const failed: HttpResponse =
        failure === 'reset' ? (_request, response) => response.destroy() : json({}, failure);
      fake.answer(failed, json({ traces: [] }), restarted);
      await watch.confirm();
      await guard.api.get({ path: '/api/v3/traces', priority: 'tail', parse: (body) => body });
      await expect(watch.confirm()).rejects.toThrow(WrongNetworkError);
    },
  );

  test('a failed request causes one question, however many commits wait', async () => {
    const guard = guardOf();
    fake.answer(json({}, 503), json({ traces: [] }), own);
    await guard.api.get({ path: '/api/v3/traces', priority: 'tail', parse: (body) => body });
    await Promise.all([guard.network.confirm(), guard.network.begin().confirm()]);
    await guard.network.confirm();
    expect(fake.seen).toHaveLength(3);
  });

  test('an index that has dropped its first blocks is the same chain', async () => {
    const guard = guardOf();
    fake.answer(chainInfo({ seqno: 700, root_hash: `C${HASH.slice(1)}` }));
    time.ms = 61_000;
    await guard.network.confirm();
    await guard.network.confirm();
    expect(fake.seen).toHaveLength(1);
  });
});

test('no request waits for the answer while the last one is less than a minute old', async () => {
  const asked = new Promise<void>((resolve) => {
    // It never answers.
    fake.answer(() => resolve());
  });
  time.ms = 50_000;
  await network.confirm();
  await asked;
  await network.begin().confirm();
  expect(fake.seen).toHaveLength(1);
});

test('a reading that began before another network answered writes nothing, even if its own network is back', async () => {
  const before = network.begin();
  await before.confirm();
  fake.answer(blocks(TESTNET), info(TESTNET), info(MAINNET));
  await expect(get('/api/v3/blocks')).rejects.toThrow(WrongNetworkError);
  await expect(before.confirm()).rejects.toThrow(WrongNetworkError);
  // A crawl that begins now asks first.
  await expect(network.begin().confirm()).rejects.toThrow(WrongNetworkError);
  const after = network.begin();
  await after.confirm();
  await expect(before.confirm()).rejects.toThrow(WrongNetworkError);
  await network.confirm();
  expect(fake.seen).toHaveLength(3);
});

test('a response that was in flight before another network was seen does not prove that its own network is back', async () => {
  let answer: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => {
    fake.answer(
      (...request) => {
        answer = () => {
          blocks(MAINNET)(...request);
        };
        resolve();
      },
      blocks(TESTNET),
      info(TESTNET),
    );
  });
  const early = get('/api/v3/blocks');
  await asked;
  await expect(get('/api/v3/blocks')).rejects.toThrow(WrongNetworkError);
  answer();
  await early;
  await expect(network.confirm()).rejects.toThrow(WrongNetworkError);
});
