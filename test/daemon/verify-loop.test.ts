import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Crawl } from '../../src/app/open-crawl.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { createVerifyLoop } from '../../src/daemon/verify-loop.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { lengthOf, type Range, without } from '../../src/range.ts';
import type { ApiRequest } from '../../src/simulator/http/api.ts';
import { errorResponse } from '../../src/simulator/http/response.ts';
import type { Simulator, SimulatorOptions } from '../support/simulator/simulator.ts';
import { never, testConfig } from '../support/crawl.ts';
import type { TestStore } from '../support/database/database.ts';
import { openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 3, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let proof: Proof;
let datasets: Dataset[];
let range: Range;
let loop: Awaited<ReturnType<typeof createVerifyLoop>>;
let close: () => Promise<void>;
/** The transactions that the source leaves out while this is set. */
let hidden: string | undefined;
/** Ranges for which the source returns only errors. */
let failing: readonly Range[] = [];

/** The second that a request of verification is about; undefined for other requests. */
function secondOf({ path, search }: ApiRequest): number | undefined {
  if (path === '/api/v3/masterchainBlockShardState') return START + 2.5 * Number(search.get('seqno'));
  const second = search.get('start_utime') ?? search.get('end_utime');
  return path === '/api/v3/blocks' && second !== null ? Number(second) : undefined;
}

beforeAll(async () => {
  const after: SimulatorOptions['after'] = (request, response) => {
    if (hidden === undefined || !request.path.startsWith('/api/v3/transactions')) return response;
    const body = JSON.parse(response.body.toString()) as { transactions: { hash: string }[] };
    const transactions = body.transactions.filter(({ hash }) => hash !== hidden);
    return { ...response, body: JSON.stringify({ ...body, transactions }) };
  };
  const before: SimulatorOptions['before'] = (request) => {
    const second = secondOf(request);
    const isFailing = second !== undefined && failing.some(({ from, to }) => second >= from && second < to);
    return isFailing ? errorResponse(500, 'trouble') : undefined;
  };
  const network = { start: START, duration: 900, seed: 11, load: 2, after, before };
  const opened = await openNetworkProof({ network, datasets: ['blocks', 'transactions'], hasty: true });
  ({ store, simulator, crawl, proof, datasets, range, close } = opened);
  const options = { ...crawl, datasets, config: testConfig(), stop: never };
  loop = await createVerifyLoop({ ...options, watermark: () => range.to });
});
afterAll(() => close());

const verified = async (name: string) => readVerified(store.database, { dataset: name, scope: '', pass: 0 });

test('the daemon verifies what it has covered, except its newest end, with one request', async () => {
  const before = simulator.stats.total;
  expect(await loop.round()).toBe(true);
  const ripe = [{ from: range.from, to: range.to - 120 }];
  expect([await verified('blocks'), await verified('transactions')]).toEqual([ripe, ripe]);
  expect(simulator.stats.total - before).toBe(1);
  expect(await loop.round()).toBe(false);
});

test('an older second is verified too, however the chain grows meanwhile', async () => {
  await store.database.run(sql`update etl.coverage set verified = '{}'`);
  let watermark = range.from + 300;
  const options = { ...crawl, datasets, config: testConfig(), stop: never };
  const growing = await createVerifyLoop({ ...options, watermark: () => watermark });
  await growing.round();
  const second = `'{[${range.from + 20},${range.from + 21})}'::int8multirange`;
  await store.database.run(sql.raw(`update etl.coverage set verified = verified - ${second}`));
  for (let round = 0; round < 4; round += 1) {
    watermark += 60;
    await growing.round();
  }
  expect(without([{ from: range.from, to: range.from + 300 }], await verified('blocks'))).toEqual([]);
});

describe('of several ranges', () => {
  /** Four ranges, far enough apart that no request covers two of them. */
  const stretches = () =>
    [0, 200, 400, 600].map((at) => ({ from: range.from + at, to: range.from + at + 60 }));
  const isVerified = async (stretch: Range) => without([stretch], await verified('blocks')).length === 0;
  const begin = async () => {
    const kept = stretches().map(({ from, to }) => `[${from},${to})`);
    await store.database.run(
      sql`update etl.coverage set covered = ${`{${kept.join()}}`}::int8multirange, verified = '{}'`,
    );
    return createVerifyLoop({
      ...crawl,
      datasets,
      config: testConfig(),
      stop: never,
      watermark: () => range.to,
    });
  };
  afterEach(async () => {
    failing = [];
    await store.database.run(
      sql`update etl.coverage set covered = ${`{[${range.from},${range.to})}`}::int8multirange, verified = '{}'`,
    );
  });

  test('the newest comes first, then the oldest in turn', async () => {
    const own = await begin();
    const order: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      expect(await own.round()).toBe(true);
      for (const [index, stretch] of stretches().entries())
        if (!order.includes(index) && (await isVerified(stretch))) order.push(index);
    }
    expect(order).toEqual([3, 0, 2, 1]);
    expect(await own.round()).toBe(false);
  });

  test('those at both ends delay no other one, although the source fails for them each time', async () => {
    const own = await begin();
    const [oldest, second, third, newest] = stretches();
    failing = [oldest!, newest!].map(({ from, to }) => ({ from: from - 60, to: to + 60 }));
    for (let round = 0; round < 4; round += 1) expect(await own.round()).toBe(true);
    expect(await Promise.all([oldest, second, third, newest].map((one) => isVerified(one!)))).toEqual([
      ...[false, true, true, false],
    ]);
    // They wait: nothing is requested for them before their pause is over.
    const before = simulator.stats.total;
    expect(await own.round()).toBe(false);
    expect(simulator.stats.total).toBe(before);
  });
});

test('one of two daemons verifies', async () => {
  const options = { ...crawl, datasets, config: testConfig(), stop: never, watermark: () => range.to };
  const other = await createVerifyLoop({ ...options, owner: 'another' });
  await store.database.run(sql`update etl.coverage set verified = '{}'`);
  expect(await other.round()).toBe(false);
  expect(await loop.round()).toBe(true);
});

test('a hole that a second reading does not fill is a gap of the source: refused for a growing time, never verified', async () => {
  // It came from outside, and sent one message at most.
  const gone = [...simulator.truth.transactions({ from: START + 300, to: START + 500 })].find(
    ({ in_msg, out_msgs }) => in_msg?.source === null && out_msgs.length < 2,
  )!;
  hidden = gone.hash;
  await store.database.run(sql`delete from ton.transactions where hash = ${hidden}`);
  await store.database.run(sql`update etl.coverage set verified = '{}'`);
  expect(await loop.round()).toBe(true);
  const refusals = () =>
    store.database.rows(
      sql`select reason, attempts, detail, lower(span)::int as from, upper(span)::int as to,
            retry_at - clock_timestamp() > interval '30 seconds' as later from etl.refused`,
      z.object({
        reason: z.string(),
        attempts: z.number(),
        detail: z.string(),
        from: z.number(),
        to: z.number(),
        later: z.boolean(),
      }),
    );
  expect(await refusals()).toEqual([
    {
      reason: 'source_gap',
      attempts: 1,
      from: gone.now,
      to: gone.now + 1,
      later: true,
      detail: expect.stringContaining('missing_transactions') as unknown,
    },
  ]);
  // Seconds whose verification depends on the gap, through its account or its messages, wait with it.
  const open = without([{ from: range.from, to: range.to - 120 }], await verified('transactions'));
  expect(without([{ from: gone.now, to: gone.now + 1 }], open)).toEqual([]);
  // Those of the transactions before and after it, and of the one that received its message.
  expect(lengthOf(open)).toBeLessThanOrEqual(4);

  // The planner does the same after the pause: it reads the second, and finds it missing again.
  await store.database.run(sql`update etl.refused set retry_at = now()`);
  await proof.cover(datasets, { range, watermark: range.to });
  expect(await loop.round()).toBe(true);
  expect(await refusals()).toMatchObject([{ reason: 'source_gap', attempts: 2 }]);

  hidden = undefined;
  await store.database.run(sql`update etl.refused set retry_at = now()`);
  await proof.cover(datasets, { range, watermark: range.to });
  await loop.round();
  expect(await readCoverage(store.database, streamOf(datasets[1]!))).toEqual([range]);
});
