import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { streamOf } from '../../../src/crawl/streams/planner.ts';
import { readCoverage, endPauses } from '../../../src/ledger/stored-coverage.ts';
import { spanOfSecond, without, type Range } from '../../../src/range.ts';
import type { ApiRequest } from '../../../src/simulator/http/api.ts';
import type { Faults } from '../../../src/simulator/faults.ts';
import { datasetsNamed, never } from '../../support/crawl.ts';
import { useNetwork } from '../../support/network.ts';
import type { SimulatorOptions } from '../../support/simulator/simulator.ts';
import { some, thorough } from '../../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const RANGE: Range = { from: START + 60, to: START + 900 };
const END = START + 1800;

const network = useNetwork({ start: START, duration: END - START, seed: 11, load: 6 });

/** Streams whose rows have an identifying member, and that member. */
const STREAMS = [
  { name: 'transactions', path: '/api/v3/transactions', member: 'hash' },
  { name: 'traces', path: '/api/v3/traces', member: 'trace_id' },
  { name: 'actions', path: '/api/v3/actions', member: 'action_id' },
  { name: 'blocks', path: '/api/v3/blocks', member: 'root_hash' },
  { name: 'jetton_transfers', path: '/api/v3/jetton/transfers', member: 'transaction_hash' },
  { name: 'jetton_burns', path: '/api/v3/jetton/burns', member: 'transaction_hash' },
  { name: 'validator_events', path: '/api/v3/validators/events', member: 'tx_hash' },
] as const;

/** What the network was asked for since this was emptied. */
const asked: ApiRequest[] = [];

/** Serves the network, and notes its requests. */
const serve = (options: SimulatorOptions = {}) =>
  network.serve({
    before: (request) => {
      asked.push(request);
      return undefined;
    },
    ...options,
  });

type Member = (typeof STREAMS)[number]['member'];

/** Covers the range as far as possible. */
async function crawl(name: string): Promise<readonly Range[]> {
  const datasets = await datasetsNamed(name);
  const readable = { range: RANGE, watermark: END };
  await network.crawl(
    async (opened) => {
      // A request is not retried: retries would take most of the time.
      const { api } = opened.context;
      const get: typeof api.get = (request) => api.get({ ...request, attemptsInDoubt: 1 });
      const context = { ...opened.context, api: { ...api, get } };
      await fillRange({ ...opened, context, datasets, readable, stop: never });
    },
    { hasty: true },
  );
  return readCoverage(network.store.database, streamOf(datasets[0]!));
}

const Row = z.object({ id: z.string(), utime: z.coerce.number() });

function stored(name: string, member: Member) {
  return network.store.database.rows(
    sql`select ${sql.identifier(member)} as id, extract(epoch from utime)::int8 as utime
        from ton.${sql.identifier(name)} where ${inRange} order by utime, id`,
    Row,
  );
}
const inRange = sql`utime >= to_timestamp(${RANGE.from}) and utime < to_timestamp(${RANGE.to})`;

const Refused = z.object({
  from: z.coerce.number(),
  to: z.coerce.number(),
  reason: z.string(),
  detail: z.string(),
});

function refused() {
  return network.store.database.rows(
    sql`select lower(span) as "from", upper(span) as "to", reason, detail from etl.refused order by span`,
    Refused,
  );
}

const forget = (name: string) =>
  network.store.database.script(`truncate etl.coverage, etl.refused, etl.pages, ton.${name} cascade`);

/** One row of each third, and the last one. */
function someOf<T>(rows: readonly T[]): T[] {
  return [0.1, 0.35, 0.7].map((share) => rows[Math.floor(share * rows.length)]!).concat(rows.at(-1)!);
}

type As = NonNullable<Faults['unservableAs']>;

/** Removes some rows of a stream that was read whole, and expects to lose only their seconds. */
async function loseSome({ name, path, member }: (typeof STREAMS)[number], unservableAs: As = '500') {
  const { store, simulator } = network;
  expect(await crawl(name)).toEqual([RANGE]);
  const truth = await stored(name, member);
  expect(truth.length).toBeGreaterThan(3);
  await forget(name);
  const bad = someOf(truth);
  const unservable = bad.map(({ id: value }) => ({ path, member, value }));
  Object.assign(simulator.faults, { unservable, unservableAs });
  simulator.stats.clear();
  const covered = await crawl(name);
  const seconds = bad.map(({ utime }) => spanOfSecond(utime));
  expect((await refused()).map(({ from, to }) => ({ from, to }))).toEqual(seconds);
  expect(covered).toEqual(without([RANGE], seconds));
  const ids = new Set((await stored(name, member)).map(({ id }) => id));
  const lost = truth.filter(({ id }) => !ids.has(id));
  const [dataset] = await datasetsNamed(name);
  // If the rows of a second come in another order each time, its other pages may lack some, too.
  if (dataset!.job.paginator.wholeSeconds)
    expect(
      without(
        lost.map(({ utime }) => spanOfSecond(utime)),
        seconds,
      ),
    ).toEqual([]);
  else expect(lost).toEqual(bad);
  expect(lost).toEqual(expect.arrayContaining(bad));
  const requests = simulator.stats.byPath.get(path);
  // A second run requests only these seconds, and ends when they are served.
  simulator.faults.unservable = [];
  await endPauses(store.database, [name], RANGE);
  asked.length = 0;
  expect(await crawl(name)).toEqual([RANGE]);
  const again = asked.filter((request) => request.path === path);
  for (const { search } of again) {
    const [first, last] = ['start_utime', 'end_utime'].map((side) => Number(search.get(side)));
    expect(bad.some(({ utime }) => first! <= utime && utime <= last!)).toBe(true);
    expect(last! - first!).toBeLessThanOrEqual(30);
  }
  // A second is requested, and then what follows its short page. If its rows came in another order meanwhile,
  // it is read again, as often as that happens.
  if (!dataset!.job.paginator.wholeSeconds) expect(again.length).toBeLessThanOrEqual(2 * bad.length);
  expect(await stored(name, member)).toEqual(truth);
  expect(await refused()).toEqual([]);
  return requests! / bad.length;
}

describe.each(some(['1.3', '1.2'] as const, 1))('of build %s', (build) => {
  const streams = STREAMS.filter(({ name }) => build === '1.3' || !name.startsWith('validator'));
  test.each(some(streams, 1))(
    'a row of $name that cannot be served costs its second, and no other row',
    async (stream) => {
      await serve({ build });
      expect(await loseSome(stream)).toBeLessThan(100);
    },
  );
});

const OTHERWISE = [
  ['timeout', 'transactions'],
  ['422', 'actions'],
  ['broken', 'jetton_transfers'],
  ['broken', 'traces'],
  ['422', 'blocks'],
  ['timeout', 'jetton_burns'],
] as const;

thorough.each(OTHERWISE)(
  'a row for which the server fails in another way (%s) costs its second of %s alone',
  async (as, name) => {
    await serve();
    await loseSome(
      STREAMS.find((stream) => stream.name === name)!,
      as,
    );
  },
);

test.each(some([9_000, 100_000], 1))(
  'a record with values nested %d levels deep costs its second at most',
  async (levels) => {
    const deep = `${'['.repeat(levels)}${']'.repeat(levels)}`;
    let seconds = new Set<number>();
    await serve({
      after: ({ path }, response) => {
        if (path !== '/api/v3/jetton/transfers') return response;
        const [victim] = [...network.simulator.truth.jettonTransfers(RANGE)].slice(20, 21);
        const body = response.body
          .toString()
          .replace(
            `"transaction_hash":"${victim!.transaction_hash}"`,
            `"deep":${deep},"transaction_hash":"${victim!.transaction_hash}"`,
          );
        seconds = new Set([victim!.transaction_now]);
        return { ...response, body };
      },
    });
    const covered = await crawl('jetton_transfers');
    const missing = without([RANGE], covered);
    const second = [...seconds][0]!;
    // Either the record is in quarantine, or its second is refused with a sentence that a person understands.
    expect([[], [{ from: second, to: second + 1 }]]).toContainEqual(missing);
    const [refused] = await network.store.database.rows(
      sql`select detail from etl.refused where dataset = 'jetton_transfers'`,
      z.object({ detail: z.string().nullable() }),
    );
    if (missing.length > 0) expect(refused?.detail).toContain('nested too deep');
  },
);
