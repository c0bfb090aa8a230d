import { afterEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createApiClient, type ApiClient } from '../../../src/api/client.ts';
import { createInFlight } from '../../../src/budget/request-budget.ts';
import { systemClock } from '../../../src/clock.ts';
import { readChainInfo } from '../../../src/crawl/source-chain.ts';
import {
  createWatermarkReader,
  watermarkNotKnown,
  type PolledWatermark,
  type Watermark,
} from '../../../src/crawl/watermark/watermark.ts';
import { startSimulator, type Simulator, type SimulatorOptions } from '../../support/simulator/simulator.ts';
import { freeBudget } from '../../api/fake-api.ts';
import { never, silent } from '../../support/crawl.ts';
import { thorough } from '../../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const STEP = 7;

let simulator: Simulator;
let api: ApiClient;

afterEach(async () => {
  await api.close();
  await simulator.close();
});

interface Look extends PolledWatermark {
  readonly headTime: number;
  /** Blocks of the last two minutes below the watermark that the API showed at that moment. */
  readonly visible: number;
}

/** Moves the head from `from` to `to` seconds after the start and reads the watermark after each step. */
async function watch(options: SimulatorOptions, from: number, to: number, step = STEP): Promise<Look[]> {
  simulator = await startSimulator({
    start: START,
    duration: 1800,
    load: 1,
    headTime: START + from,
    ...options,
  });
  const budget = freeBudget();
  api = createApiClient({
    baseUrl: simulator.url,
    budget,
    inFlight: createInFlight({ rps: 1000, clock: systemClock }),
    logger: silent,
    clock: systemClock,
    random: Math.random,
    attempts: 6,
  });
  const reader = createWatermarkReader({
    api,
    info: await readChainInfo(api, never.leaving),
    clock: systemClock,
    delaySeconds: 0,
  });
  const looks: Look[] = [];
  for (let at = from; at <= to; at += step) {
    simulator.headTime = START + at;
    const watermark = await reader.read(never.leaving);
    looks.push({ ...watermark, headTime: START + at, visible: await visibleBelow(watermark.utime) });
  }
  return looks;
}

const Sent = z.object({ blocks: z.array(z.looseObject({ workchain: z.number(), gen_utime: z.string() })) });
type Change = (blocks: z.output<typeof Sent>['blocks']) => z.output<typeof Sent>['blocks'];

/** A server that leaves a workchain out of the state of the shards. */
function withoutWorkchain(workchain: number): NonNullable<SimulatorOptions['after']> {
  return ({ path }, response) => {
    if (path !== '/api/v3/masterchainBlockShardState') return response;
    const { blocks } = Sent.parse(JSON.parse(String(response.body)));
    const left = blocks.filter((block) => block.workchain !== workchain);
    return { ...response, body: JSON.stringify({ blocks: left }) };
  };
}

const FUTURE = String(Date.UTC(2100, 0, 1) / 1000);
const ALONE = {
  workchain: -1,
  shard: '8000000000000000',
  seqno: 1_000_000,
  prev_blocks: [],
  global_id: -777,
};

/**
 * The watermark of each poll with a delay of 30 s; the blocks that the source sends change at one second of
 * the polling clock.
 */
async function poll(change: Change, changedAt: number): Promise<Watermark[]> {
  const time = { seconds: 0 };
  const after: SimulatorOptions['after'] = ({ path }, response) => {
    if (path !== '/api/v3/blocks' || time.seconds !== changedAt) return response;
    const { blocks } = Sent.parse(JSON.parse(String(response.body)));
    return { ...response, body: JSON.stringify({ blocks: change(blocks) }) };
  };
  await watch({ after }, 400, 400);
  const clock = { ...systemClock, monotonic: () => 1000 * time.seconds };
  const reader = createWatermarkReader({
    api,
    info: await readChainInfo(api, never.leaving),
    clock,
    delaySeconds: 30,
  });
  const found: Watermark[] = [];
  for (; time.seconds <= 140; time.seconds += STEP) {
    simulator.headTime = START + 400 + time.seconds;
    found.push(await reader.read(never.leaving));
  }
  return found;
}

const recent = (utime: number) => ({ from: utime - 120, to: utime });

/** What an up-to-date replica shows: the watermark must hold for every replica. */
async function visibleBelow(utime: number): Promise<number> {
  const { stale, capLimit } = simulator.faults;
  Object.assign(simulator.faults, { stale: 0, capLimit: Infinity });
  const { from, to } = recent(utime);
  const { value } = await api.get({
    path: '/api/v3/blocks',
    params: { start_utime: from, end_utime: to - 1, sort: 'asc', limit: 1000 },
    priority: 'tail',
    parse: (body) => (body as { blocks: unknown[] }).blocks.length,
  });
  Object.assign(simulator.faults, { stale: stale ?? 0, capLimit: capLimit ?? Infinity });
  return value;
}

/** No block below a watermark may have become visible after it, and the watermark must not stop without a reason. */
function expectSound(looks: readonly Look[]): void {
  simulator.headTime = START + 1800;
  for (const { utime, visible } of looks.filter((look) => look.utime > 0)) {
    expect(visible).toBe(simulator.truth.counts(recent(utime)).blocks);
  }
  for (const [index, { utime }] of looks.entries())
    expect(utime).toBeGreaterThanOrEqual(looks[index - 1]?.utime ?? 0);
}

describe('the watermark', () => {
  test('follows the head of a healthy network within a few blocks', async () => {
    const looks = await watch({}, 400, 700);
    expectSound(looks);
    for (const { utime, headTime } of looks) expect(headTime - utime).toBeLessThan(15);
  });

  test('waits for masterchain blocks that become visible out of order', async () => {
    const looks = await watch({ faults: { lateBlocks: { probability: 0.1, seconds: 25 } } }, 400, 800);
    expectSound(looks);
    expect(looks.some(({ waitingFor }) => waitingFor?.startsWith('masterchain block') === true)).toBe(true);
  });

  test('stays below a hole as long as it lasts, and moves on when it is filled', async () => {
    const seqno = Math.floor(500 / 2.5);
    const looks = await watch({ faults: { holes: [{ from: seqno, to: seqno + 2 }] } }, 400, 700);
    expectSound(looks);
    expect(Math.max(...looks.map(({ head }) => head.seqno))).toBe(seqno - 1);
    simulator.faults.holes = [];
    simulator.headTime = START + 710;
  });

  test('passes a hole that has lasted for an hour, and names it as a gap', async () => {
    const seqno = Math.floor(500 / 2.5);
    const holes = [{ from: seqno, to: seqno + 2 }];
    const lostBlocks = [{ from: START + 900, to: START + 905 }];
    const looks = await watch({ duration: 5400, faults: { holes, lostBlocks } }, 400, 5000, 230);
    const young = looks.filter(({ headTime }) => headTime < START + 500 + 3600);
    expect(Math.max(...young.map(({ head }) => head.seqno))).toBe(seqno - 1);
    const last = looks.at(-1)!;
    expect(last.headTime - last.utime).toBeLessThan(30);
    const gaps = looks.flatMap((look) => look.gaps);
    expect(gaps.map(({ detail }) => detail)).toEqual([
      `the source has a gap: masterchain blocks ${seqno} to ${seqno + 2} are missing`,
      expect.stringContaining('the source has a gap: block 0:'),
    ]);
    const [first, second] = gaps.map(({ span }) => span);
    expect(first!.from).toBeLessThanOrEqual(START + 498);
    expect(first!.to).toBeGreaterThan(START + 505);
    expect(second!.from).toBeLessThanOrEqual(START + 900);
    expect(second!.to).toBeGreaterThan(START + 905);
  });

  test('a process that starts later stays below a hole of half an hour, too', async () => {
    const seqno = Math.floor(500 / 2.5);
    const looks = await watch(
      { duration: 5400, faults: { holes: [{ from: seqno, to: seqno }] } },
      2300,
      2300,
    );
    expect(looks.map(({ head }) => head.seqno)).toEqual([seqno - 1]);
    expect(looks[0]!.shown).toBeGreaterThan(looks[0]!.utime + 1700);
  });

  test.each<[string, SimulatorOptions]>([
    ['leave the masterchain out', { after: withoutWorkchain(-1) }],
    ['come only from v2', { faults: { absent: ['/api/v3/masterchainBlockShardState'] } }],
  ])('is known if the tops of shards %s', async (_, options) => {
    expectSound(await watch(options, 400, 500));
    expect(simulator.stats.byPath.size).toBeGreaterThan(1);
  });

  test('reports that tops without a workchain will not change in a later response', async () => {
    const [look] = await watch({ after: withoutWorkchain(0) }, 400, 400);
    expect(look!.utime).toBe(0);
    const error = watermarkNotKnown(look!);
    expect(error).toMatchObject({ code: 'unfit_source', exitCode: 2 });
    expect(error.message).toContain('was answered, but its tops do not cover workchain 0');
  });

  test('waits for a shard whose new blocks were not registered for a minute', async () => {
    const looks = await watch({ lags: [{ from: START + 500, to: START + 560 }] }, 400, 800);
    expectSound(looks);
    const deepest = Math.max(...looks.map(({ headTime, utime }) => headTime - utime));
    expect(deepest).toBeGreaterThan(45);
    expect(looks.at(-1)!.headTime - looks.at(-1)!.utime).toBeLessThan(15);
  });

  test('waits for the child of a split that becomes visible late', async () => {
    const looks = await watch({ reshardEvery: 20, faults: { lateSplit: { seconds: 40 } } }, 400, 1000);
    expectSound(looks);
    expect(Math.max(...looks.map(({ headTime, utime }) => headTime - utime))).toBeGreaterThan(30);
  });

  test('holds through splits and merges', async () => {
    expectSound(await watch({ reshardEvery: 8 }, 400, 800));
  });

  test('does not fall if a replica with an older head responds', async () => {
    const looks = await watch({ faults: { stale: 0.4, staleSeconds: 40 } }, 400, 800);
    expectSound(looks);
  });

  test('is found by a later poll if the first one got responses that were cut short', async () => {
    simulator = await startSimulator({ start: START, duration: 1800, load: 1, headTime: START + 400 });
    const budget = freeBudget();
    api = createApiClient({
      baseUrl: simulator.url,
      budget,
      inFlight: createInFlight({ rps: 1000, clock: systemClock }),
      logger: silent,
      clock: systemClock,
      random: Math.random,
      attempts: 6,
    });
    const reader = createWatermarkReader({
      api,
      info: await readChainInfo(api, never.leaving),
      clock: systemClock,
      delaySeconds: 0,
    });
    simulator.faults.shortBlocks = 1;
    expect((await reader.read(never.leaving)).utime).toBe(0);
    simulator.faults.shortBlocks = 0;
    simulator.headTime += STEP;
    expect(simulator.headTime - (await reader.read(never.leaving)).utime).toBeLessThan(15);
  });

  thorough('is found in smaller pages if the server has no time for large ones', async () => {
    await watch({}, 400, 400);
    simulator.faults.timeoutAboveLimit = 40;
    const reader = createWatermarkReader({
      api,
      info: await readChainInfo(api, never.leaving),
      clock: systemClock,
      delaySeconds: 0,
    });
    expect(simulator.headTime - (await reader.read(never.leaving)).utime).toBeLessThan(15);
    const before = simulator.stats.total;
    await reader.read(never.leaving);
    // It does not try large ones again.
    expect(simulator.stats.total - before).toBeLessThanOrEqual(6);
  });

  test.each<[string, Change]>([
    ['that links to no other block', (blocks) => [...blocks, { ...ALONE, gen_utime: FUTURE }]],
    [
      'that the chain has, with another time',
      (blocks) => blocks.map((block) => (block.workchain === -1 ? { ...block, gen_utime: FUTURE } : block)),
    ],
  ])('ignores the time of a block of the year 2100 in one response, %s', async (_, change) => {
    const asIs = await poll(change, Infinity);
    await api.close();
    await simulator.close();
    const led = await poll(change, 70);
    for (const [index, { newest, utime, everywhere }] of led.entries()) {
      expect(newest).toBe(asIs[index]!.newest);
      expect(utime).toBeLessThanOrEqual(asIs[index]!.utime);
      expect(everywhere).toBeLessThanOrEqual(asIs[index]!.everywhere);
    }
    // After the delay, no effect of it is left.
    const [last, undisturbed] = [led.at(-1)!, asIs.at(-1)!];
    expect(last).toEqual(undisturbed);
  });

  test.each([
    ['of the masterchain, in another workchain', -1, [200], { workchain: 5 }],
    ['of the masterchain, in half of it', -1, [200], { shard: '4000000000000000' }],
    ['of the masterchain, three times in a row', -1, [200, 201, 202], { workchain: 0 }],
    ['of a shard, in the masterchain', 0, [200], { workchain: -1 }],
  ])('passes a block %s', async (_, workchain, seqnos, changed) => {
    const after: SimulatorOptions['after'] = (_request, response) => {
      const body = Sent.safeParse(JSON.parse(String(response.body)));
      if (!body.success) return response;
      const blocks = body.data.blocks.map((block) =>
        block.workchain === workchain && seqnos.includes(Number(block['seqno']))
          ? { ...block, ...changed }
          : block,
      );
      return { ...response, body: JSON.stringify({ blocks }) };
    };
    const looks = await watch({ after }, 480, 600);
    expectSound(looks);
    for (const { utime, headTime } of looks) expect(headTime - utime).toBeLessThan(30);
    for (const { gaps, head } of looks) expect([gaps, head.seqno > 180]).toEqual([[], true]);
    expect(looks.at(-1)!.headTime - looks.at(-1)!.utime).toBeLessThan(15);
  });

  test('follows the head if the server gives fewer rows than requested', async () => {
    const looks = await watch({ faults: { capLimit: 64 } }, 400, 600);
    expectSound(looks);
    for (const { utime, headTime } of looks) expect(headTime - utime).toBeLessThan(15);
  });

  test('costs two requests a poll near the head', async () => {
    await watch({}, 400, 500);
    const before = simulator.stats.total;
    const reader = createWatermarkReader({
      api,
      info: await readChainInfo(api, never.leaving),
      clock: systemClock,
      delaySeconds: 0,
    });
    await reader.read(never.leaving);
    const after = simulator.stats.total;
    simulator.headTime += STEP;
    await reader.read(never.leaving);
    expect(simulator.stats.total - after).toBe(2);
    expect(after - before).toBeLessThanOrEqual(4);
  });
});
