import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BlockJson } from '../../src/simulator/json/block-json.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { ask } from './ask.ts';

const START = 1_767_225_600;
const SIZE = { start: START, duration: 600, load: 12, accounts: 200 } as const;

describe('a generated network', () => {
  test('is the same for the same options, and another for another seed', async () => {
    const pages: string[] = [];
    for (const seed of [7, 7, 8]) {
      const simulator = await startSimulator({ ...SIZE, seed });
      pages.push(
        JSON.stringify((await ask(simulator, '/api/v3/transactions?limit=1000&offset=2000&sort=asc')).body),
      );
      await simulator.close();
    }
    expect(pages[1]).toBe(pages[0]);
    expect(pages[2]).not.toBe(pages[0]);
  });

  test('shows only what is below its head, and the head can be moved', async () => {
    const simulator = await startSimulator({ ...SIZE, headTime: START + 300 });
    const last = async (): Promise<BlockJson> => (await ask(simulator, '/api/v3/masterchainInfo')).body.last!;
    const before = await last();
    expect(Number(before.gen_utime)).toBeLessThanOrEqual(START + 300);
    const above = await ask(simulator, `/api/v3/transactions?start_utime=${START + 301}&limit=1000`);
    expect(above.body.transactions).toEqual([]);
    expect(
      (await ask(simulator, `/api/v3/transactionsByMasterchainBlock?seqno=${before.seqno + 1}`)).status,
    ).toBe(404);
    simulator.headTime = START + 310;
    expect((await last()).seqno).toBeGreaterThan(before.seqno);
    await simulator.close();
  });

  test('is live: its head moves with the clock, and a second reading shows more', async () => {
    const simulator = await startSimulator({ load: 10, accounts: 100, live: { speed: 200 } });
    const last = async (): Promise<BlockJson> => (await ask(simulator, '/api/v3/masterchainInfo')).body.last!;
    expect(simulator.headTime).toBeGreaterThan(Date.now() / 1000 - 1);
    const head = simulator.headTime;
    const before = await last();
    expect(Number(before.gen_utime)).toBeGreaterThan(head - 10);
    expect(Number(before.gen_utime)).toBeLessThanOrEqual(simulator.headTime);
    await expect.poll(async () => (await last()).seqno).toBeGreaterThan(before.seqno + 3);
    await simulator.close();
  });
});

describe('seconds with ties', () => {
  const ties = [
    { second: START + 300, count: 2 },
    { second: START + 301, count: 999 },
    { second: START + 302, count: 1000 },
    { second: START + 310, count: 1001 },
    { second: START + 331, count: 5000 },
    { second: START + 400, count: 900, sameLt: true },
  ];
  let simulator: Simulator;

  beforeAll(async () => {
    simulator = await startSimulator({ start: START, duration: 600, load: 10, accounts: 2000, ties });
  });
  afterAll(() => simulator.close());

  test.each(ties)('second $second holds exactly $count transactions', ({ second, count, sameLt }) => {
    const rows = [...simulator.truth.transactions({ from: second, to: second + 1 })];
    expect(rows.length).toBe(count);
    if (sameLt !== true) return;
    expect(new Set(rows.map((row) => row.lt)).size).toBe(1);
    expect(new Set(rows.map((row) => row.account)).size).toBe(count);
  });
});

describe('seconds full of one family', () => {
  const families = [
    'jetton_transfers',
    'jetton_burns',
    'nft_transfers',
    'validator_events',
    'pool_events',
  ] as const;
  const counts = [2, 999, 1000, 1001, 5000];
  const ties = families.flatMap((of, family) =>
    counts.map((count, at) => ({ of, count, second: START + 500 + family * 500 + at * 100 })),
  );
  const shared = families.slice(0, 3).flatMap((of, family) =>
    [900, 1200].map((count, at) => ({
      of,
      count,
      sameLt: true,
      second: START + 3000 + family * 200 + at * 100,
    })),
  );
  const wholes = counts.map(
    (count, at) => ({ of: 'traces', count, second: START + 3800 + at * 20 }) as const,
  );
  let simulator: Simulator;

  beforeAll(async () => {
    const all = [...ties, ...shared, ...wholes];
    const options = { start: START, duration: 4200, load: 10, accounts: 2600, ties: all };
    simulator = await startSimulator(options);
  });
  afterAll(() => simulator.close());

  /** The transactions of a second that are of a family, by lt. */
  function ltsOf(of: (typeof families)[number], second: number): Map<number, number> {
    const { world } = simulator.truth;
    const { byTime } = world.events[of];
    const lts = new Map<number, number>();
    for (let at = byTime.lowerBound(second, (row) => world.utimeOf(row)); at < byTime.length; at++) {
      if (world.utimeOf(byTime.get(at)) > second) break;
      const lt = world.transactions.lt.get(byTime.get(at));
      lts.set(lt, (lts.get(lt) ?? 0) + 1);
    }
    return lts;
  }

  test.each(ties)(
    'second $second holds exactly $count $of, few of them at one lt',
    ({ of, count, second }) => {
      const lts = [...ltsOf(of, second).values()];
      expect(lts.reduce((sum, rows) => sum + rows, 0)).toBe(count);
      expect(Math.max(...lts)).toBeLessThan(900);
      expect(simulator.truth.counts({ from: second, to: second + 1 }).transactions).toBe(count);
    },
  );

  test.each(shared)('second $second holds exactly $count $of at one lt', ({ of, count, second }) => {
    expect([...ltsOf(of, second).values()]).toEqual([count]);
  });

  test.each(wholes)(
    'second $second holds exactly $count traces, each with an action',
    ({ count, second }) => {
      const span = { from: second, to: second + 1 };
      expect([...simulator.truth.actions(span)].length).toBe(count);
      expect([...simulator.truth.traces(span)].length).toBe(count);
    },
  );

  test('too many for the accounts are refused', async () => {
    const tie = { second: START + 300, count: 900, of: 'nft_transfers', sameLt: true } as const;
    await expect(startSimulator({ ...SIZE, ties: [tie] })).rejects.toThrow('need as many accounts');
    const elector = { ...tie, of: 'validator_events' } as const;
    await expect(startSimulator({ ...SIZE, ties: [elector] })).rejects.toThrow('cannot share one lt');
  });
});

test('wallets request what they are configured to request', async () => {
  const simulator = await startSimulator({ ...SIZE, load: 60, mix: { burn: 6, nft: 6 } });
  const burns = [...simulator.truth.jettonBurns()].length;
  const items = [...simulator.truth.nftTransfers()].length;
  const transfers = [...simulator.truth.jettonTransfers()].length;
  expect(burns).toBeGreaterThan(1000);
  expect(items).toBeGreaterThan(1000);
  expect(transfers).toBeLessThan(burns);
  await simulator.close();
});

test('prebuilt pages are the same bytes, faster', async () => {
  const plain = await startSimulator(SIZE);
  const prebuilt = await startSimulator({ ...SIZE, prebuilt: true });
  for (const path of [
    '?sort=asc&limit=1000&start_utime=1',
    '?sort=desc&limit=500',
    `?sort=asc&limit=1000&start_utime=${START + 100}`,
    '?account=0',
    '?limit=1',
  ]) {
    const [a, b] = await Promise.all(
      [plain, prebuilt].map(async ({ url }) => (await fetch(`${url}/api/v3/transactions${path}`)).text()),
    );
    expect(b).toBe(a);
  }
  await Promise.all([plain.close(), prebuilt.close()]);
});
