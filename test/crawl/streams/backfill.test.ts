import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { coverStreams } from '../../../src/backfill/run-backfill.ts';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { streamOf } from '../../../src/crawl/streams/planner.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { readCoverage } from '../../../src/ledger/stored-coverage.ts';
import type { Range } from '../../../src/range.ts';
import { datasetsNamed, never, openTestCrawl } from '../../support/crawl.ts';
import { useNetwork } from '../../support/network.ts';
import { lackMasterchain } from '../../support/simulator/lack-blocks.ts';
import { comparable } from '../../support/rebuild/same-record.ts';
import { readStored } from '../../support/database/stored.ts';
import { some } from '../../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

const timeOfBlock = (block: unknown) =>
  Number(z.looseObject({ gen_utime: z.string() }).parse(block).gen_utime);

const network = useNetwork({ start: START, duration: 1200, seed: 7 });

/** Covers all of the network that is safe to read, and returns that range. */
async function crawl(names: string[], rps = 1000): Promise<Range> {
  const datasets = await datasetsNamed(...names);
  const opened = await openTestCrawl(network.store, network.simulator.url, { config: { rps } });
  try {
    const wanted = { from: 0, to: opened.chain.last.utime };
    const readable = await findReadablePart({ ...opened, wanted, delaySeconds: 0, signal: never.leaving });
    const missing = await fillRange({ ...opened, datasets, readable, stop: never });
    expect(missing).toEqual(new Map());
    const range = readable.range!;
    for (const dataset of datasets)
      expect(await readCoverage(network.store.database, streamOf(dataset))).toEqual([range]);
    return range;
  } finally {
    await opened.close();
  }
}

function requestsTo(endpoint: string): number {
  return network.simulator.stats.byPath.get(`/api/v3/${endpoint}`) ?? 0;
}

async function storedHashes({ from, to }: Range): Promise<string[]> {
  const rows = await network.store.database.rows(
    sql`select hash from ton.transactions where utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`,
    z.object({ hash: z.string() }),
  );
  return rows.map(({ hash }) => hash).sort();
}

function byText(records: Iterable<unknown>): string[] {
  return [...records].map((record) => JSON.stringify(record, sortedKeys)).sort();
}

function sortedKeys(_: string, value: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value;
}

function within<T>(records: readonly T[], time: (record: T) => number, { from, to }: Range): T[] {
  return records.filter((record) => time(record) >= from && time(record) < to);
}

describe.each(some(['1.3', '1.2'] as const, 1))('a backfill from build %s', (build) => {
  test('stores every block, transaction and message member by member', async () => {
    await network.serve({ build, load: 3, duration: 600 });
    const range = await crawl(['blocks', 'transactions']);
    await readStored(network.store.url, async (stored) => {
      const blocks = within(
        await stored.blocks(),
        (block) => Number((block as { gen_utime: string }).gen_utime),
        range,
      );
      expect(byText(blocks.map((block) => comparable('blocks', block)))).toEqual(
        byText([...network.simulator.truth.blocks(range)].map((block) => comparable('blocks', block))),
      );
      const transactions = within(await stored.transactions(), (tx) => (tx as { now: number }).now, range);
      expect(byText(transactions.map((tx) => comparable('transactions', tx)))).toEqual(
        byText([...network.simulator.truth.transactions(range)].map((tx) => comparable('transactions', tx))),
      );
    });
  });

  // The longer proofs test 5000 with both.
  test.each(build === '1.2' ? some([[[2, 999, 1000, 1001]], [[5000]]], 1) : [[[2, 999, 1000, 1001]]])(
    'loses nothing if %j transactions share a second',
    async (counts) => {
      const ties = counts.flatMap((count, index) => [
        { second: START + 400 + 40 * index, count },
        { second: START + 401 + 40 * index, count: 3 },
        { second: START + 420 + 40 * index, count },
      ]);
      await network.serve({ build, load: 0.2, duration: 600, accounts: 400, ties });
      const range = await crawl(['transactions']);
      const expected = [...network.simulator.truth.transactions(range)].map(({ hash }) => hash).sort();
      expect(expected.length).toBeGreaterThan(2 * counts.reduce((sum, count) => sum + count, 0));
      expect(await storedHashes(range)).toEqual(expected);
      expect(network.simulator.stats.maxOffset).toBeLessThan(Math.max(...counts) + 1000);
    },
  );
});

describe('a backfill', () => {
  test('asks for full pages on a dense range', async () => {
    await network.serve({ load: 18, duration: 900 });
    await crawl(['transactions'], 25);
    const rows = await storedHashes({ from: 0, to: 2 ** 32 });
    expect(rows.length).toBeGreaterThan(10_000);
    // Each of its few leases of some four pages ends with a short one.
    expect(rows.length / (requestsTo('transactions') * 1000)).toBeGreaterThan(0.7);
  });

  test('survives short answers of /blocks without a hole', async () => {
    await network.serve({ load: 1, faults: { shortBlocks: 0.5 } });
    const range = await crawl(['blocks']);
    const expected = network.simulator.truth.counts(range).blocks;
    const blocks = await readStored(network.store.url, (stored) => stored.blocks());
    expect(within(blocks, timeOfBlock, range)).toHaveLength(expected);
  });

  test('reads again what one page lacks in its middle', async () => {
    const gap = { from: START + 100, to: START + 110 };
    const lacking = lackMasterchain(gap);
    let lacked = 0;
    await network.serve({
      load: 1,
      after: (request, response) => {
        if (lacked > 0) return response;
        const gapped = lacking(request, response);
        if (gapped !== response) lacked += 1;
        return gapped;
      },
    });
    const range = await crawl(['blocks']);
    expect(lacked).toBe(1);
    const stored = await readStored(network.store.url, (all) => all.blocks());
    expect(within(stored, timeOfBlock, range)).toHaveLength(network.simulator.truth.counts(range).blocks);
  });

  test('reads what is before the end of a range while it waits for that end', async () => {
    await network.serve({ load: 1, duration: 600 });
    const opened = await openTestCrawl(network.store, network.simulator.url);
    const datasets = await datasetsNamed('blocks');
    const [stream] = datasets.map((dataset) => streamOf(dataset));
    const covered = () => readCoverage(network.store.database, stream!);
    const [before, range] = [
      { from: START, to: START + 300 },
      { from: START, to: START + 500 },
    ];
    const seen: unknown[] = [];
    const untilSafe = async () => {
      seen.push(await covered());
      return START + 560;
    };
    const { missing } = await coverStreams({
      ...{ ...opened, datasets, range, jobs: datasets, stop: never, owner: 'test', watermark: START + 330 },
      held: { before, waitUntilSafe: untilSafe },
      onDerived: () => undefined,
    });
    expect(missing).toEqual(new Map());
    expect(seen).toEqual([[before]]);
    expect(await covered()).toEqual([range]);
    await opened.close();
  });

  test('requests nothing that is covered already', async () => {
    await network.serve({ load: 1 });
    await crawl(['blocks', 'transactions']);
    const before = requestsTo('transactions');
    await crawl(['blocks', 'transactions']);
    expect(requestsTo('transactions')).toBe(before);
  });
});
