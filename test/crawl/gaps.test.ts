import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { expect, test } from 'vitest';
import { coverStreams } from '../../src/backfill/run-backfill.ts';
import { findGaps, missingMasterchain, recheckGaps } from '../../src/crawl/gaps.ts';
import { requireHead } from '../../src/crawl/watermark/watermark.ts';
import { crawlLease } from '../../src/crawl/streams/read-leases.ts';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import { readCoverage, readGaps } from '../../src/ledger/stored-coverage.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { splitKinds } from '../../src/dataset/dataset.ts';
import { common, isInside, without, type Range } from '../../src/range.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { useNetwork } from '../support/network.ts';
import { openProof } from '../support/verify.ts';
import { some } from '../support/thorough.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const DURATION = 1500;
/** Seconds of the network between two masterchain blocks. */
const BLOCK = 2.5;
const RANGE = { from: START + 200, to: START + 1100 };
const TWO = ['blocks', 'transactions'];
const EVERYTHING = ['blocks', 'transactions', 'traces', 'actions', 'jetton_transfers'];

const network = useNetwork({ start: START, duration: DURATION, seed: 7, load: 0.3, accounts: 400 });

/** What is left of a range after a backfill of some datasets. */
async function cover(names: readonly string[], range: Range = RANGE) {
  const datasets = await datasetsNamed(...names);
  const jobs = splitKinds(await loadJobs()).streams;
  return network.crawl(
    async (opened) => {
      const options = { ...opened, datasets, range, jobs, stop: never, watermark: START + DURATION };
      const { missing } = await coverStreams({ ...options, held: undefined, onDerived: () => undefined });
      return missing;
    },
    { maxAttempts: 2, hasty: true },
  );
}

const look = (dueOnly: boolean) =>
  network.crawl(({ context }) => recheckGaps(context, RANGE, { dueOnly, signal: never.leaving }));

const seqnoAt = (second: number) => Math.round(second / BLOCK);
/** Masterchain blocks of some seconds after the start, with all blocks that they register. */
const holeOf = (from: number, to: number) => ({ from: seqnoAt(from), to: seqnoAt(to) });

const Counted = z.object({ rows: z.coerce.number() });

async function stored(table: string, { from, to }: Range): Promise<number> {
  const [row] = await network.store.database.rows(
    sql`select count(*) as rows from ton.${sql.raw(table)} where utime >= to_timestamp(${from}) and utime < to_timestamp(${to})`,
    Counted,
  );
  return row!.rows;
}

/** Expects that every row of a covered second is stored: of blocks and transactions. */
async function expectWhole(names: readonly string[], range: Range = RANGE): Promise<void> {
  for (const dataset of await datasetsNamed(...names)) {
    for (const span of common(await readCoverage(network.store.database, streamOf(dataset)), [range])) {
      const truth = network.simulator.truth.counts(span);
      if (dataset.name === 'blocks') expect(await stored('blocks', span)).toBe(truth.blocks);
      if (dataset.name === 'transactions')
        expect(await stored('transactions', span)).toBe(truth.transactions);
      if (dataset.name === 'jetton_transfers')
        expect(await stored('jetton_transfers', span)).toBe(
          [...network.simulator.truth.jettonTransfers(span)].length,
        );
      if (dataset.name === 'traces')
        expect(await stored('traces', span)).toBe([...network.simulator.truth.traces(span)].length);
    }
  }
}

/** The seconds of the blocks that are invisible now. */
function invisible({ holes = [], lostBlocks = [] }: Faults): Range[] {
  return [...network.simulator.truth.blocks()].flatMap((block) => {
    const utime = Number(block.gen_utime);
    const seqno = block.workchain === -1 ? block.seqno : block.masterchain_block_ref.seqno;
    const isHidden =
      holes.some(({ from, to }) => seqno >= from && seqno <= to) ||
      (block.workchain === 0 &&
        lostBlocks.some(
          ({ from, to, shard = block.shard }) => utime >= from && utime <= to && shard === block.shard,
        ));
    return isHidden ? [{ from: utime, to: utime + 1 }] : [];
  });
}

const kinds: readonly [string, readonly string[], Faults][] = [
  ['masterchain blocks', EVERYTHING, { holes: [holeOf(500, 560)] }],
  ['two gaps', TWO, { holes: [holeOf(350, 380), holeOf(800, 805)] }],
  ['one masterchain block', TWO, { holes: [holeOf(700, 700)] }],
  ['the first blocks of the range', EVERYTHING, { holes: [holeOf(185, 230)] }],
  ['the last blocks of the range', TWO, { holes: [holeOf(1085, 1120)] }],
  ['more than the range at both ends', TWO, { holes: [holeOf(120, 290), holeOf(950, 1200)] }],
  ['blocks of all shards', EVERYTHING, { lostBlocks: [{ from: START + 600, to: START + 620 }] }],
  ['most of the range', TWO, { holes: [holeOf(300, 900)] }],
];

test.each(some(kinds, 2))(
  'if the source lacks %s, no dataset covers their seconds, and the same command reads them later',
  async (_, names, faults) => {
    await network.serve({ faults: { ...faults } });
    const gap = invisible(faults);
    const missing = await cover(names);
    expect([...missing.keys()].toSorted()).toEqual(names.toSorted());
    for (const dataset of await datasetsNamed(...names)) {
      const covered = await readCoverage(network.store.database, streamOf(dataset));
      expect(common(covered, gap)).toEqual([]);
      // What is above and below is read.
      const gaps = await readGaps(network.store.database, [RANGE]);
      expect(without([RANGE], [...covered, ...gaps.map(({ span }) => span)])).toEqual([]);
    }
    await expectWhole(['blocks', 'transactions', 'jetton_transfers'].filter((name) => names.includes(name)));
    Object.assign(network.simulator.faults, { holes: [], lostBlocks: [] });
    expect(await cover(names)).toEqual(new Map());
    await expectWhole(names);
    expect(await readGaps(network.store.database, [RANGE])).toEqual([]);
  },
);

test('a gap of masterchain blocks is found even if blocks are not read', async () => {
  const faults = { holes: [holeOf(500, 560), holeOf(190, 210)] };
  await network.serve({ faults: { ...faults } });
  const missing = await cover(['jetton_transfers']);
  const left = missing.get('jetton_transfers') ?? [];
  expect(without(common(invisible(faults), [RANGE]), left)).toEqual([]);
  expect(left.length).toBe(2);
  await expectWhole(['jetton_transfers']);
  network.simulator.faults.holes = [];
  expect(await cover(['jetton_transfers'])).toEqual(new Map());
  await expectWhole(['jetton_transfers']);
});

test('the part of a gap that is filled is read, and the rest waits longer each time', async () => {
  await network.serve({ faults: { holes: [holeOf(500, 560)] } });
  await cover(['blocks', 'transactions']);
  const [whole] = await readGaps(network.store.database, [RANGE]);
  network.simulator.faults.holes = [holeOf(540, 560)];
  const missing = await cover(['blocks', 'transactions']);
  const [rest] = await readGaps(network.store.database, [RANGE]);
  expect(rest!.span.from).toBeGreaterThan(whole!.span.from + 25);
  expect(rest!.span.to).toBe(whole!.span.to);
  expect(missing.get('transactions')).toEqual([rest!.span]);
  await expectWhole(['blocks', 'transactions']);
  // Before its pause is over, a daemon does not ask.
  const before = network.simulator.stats.byPath.get('/api/v3/blocks');
  await look(true);
  expect(network.simulator.stats.byPath.get('/api/v3/blocks')).toBe(before);
  await network.store.database.run(sql`update etl.refused set retry_at = now() - interval '1 second'`);
  await look(true);
  const Attempts = z.object({ attempts: z.number() });
  const [row] = await network.store.database.rows(sql`select attempts from etl.refused`, Attempts);
  expect(row!.attempts).toBe(3);
});

test('a lease that begins inside a gap does not cover unknown seconds', async () => {
  await network.serve({ faults: { holes: [holeOf(500, 560)] } });
  // Nothing below is stored or requested.
  const range = { from: START + 530, to: START + 900 };
  const missing = await cover(['blocks', 'transactions'], range);
  const gap = invisible(network.simulator.faults);
  for (const name of ['blocks', 'transactions'])
    expect(without(common(gap, [range]), missing.get(name) ?? [])).toEqual([]);
  expect(isInside(START + 850, missing.get('blocks')![0]!)).toBe(false);
  await expectWhole(['blocks', 'transactions'], range);
});

test('readers that all look for the block before their lease do not wait for each other', async () => {
  await network.serve({ latencyMs: [50, 50] });
  const [dataset] = await datasetsNamed('blocks');
  const spans = Array.from({ length: 24 }, (_, index) => START + 100 + 50 * index);
  const want = { dataset: dataset!, stream: streamOf(dataset!), priority: 'backfill' as const };
  await network.crawl(async ({ planner, context }) => {
    const read = async (from: number) => {
      const assignment = await planner.take([{ ...want, zones: [[{ from, to: from + 20 }]] }]);
      await crawlLease(context, assignment!, { stop: never });
    };
    await Promise.all(spans.map(read));
  });
  expect(await readCoverage(network.store.database, want.stream)).toEqual(
    spans.map((from) => ({ from, to: from + 20 })),
  );
});

test('rows above the head of a source that went back are not covered any more', async () => {
  await network.serve();
  await cover(['blocks', 'transactions']);
  const opened = await openTestCrawl(network.store, network.simulator.url);
  const { context, chain } = opened;
  const clock = { ...context.clock, sleep: () => Promise.resolve() };
  const seen = { seen: chain.last.utime, delaySeconds: 30, sinceMs: clock.monotonic() - 600_000 };
  const look = () => requireHead({ ...context, clock }, { ...seen, signal: never.leaving });
  // A replica that lags is not such a source.
  network.simulator.headTime = START + DURATION - 40;
  await look();
  network.simulator.headTime = START + 600;
  await expect(look()).rejects.toMatchObject({ code: 'source_went_back', exitCode: 75 });
  for (const dataset of await datasetsNamed('blocks', 'transactions')) {
    const [covered, ...others] = await readCoverage(network.store.database, streamOf(dataset));
    expect(others).toEqual([]);
    expect(covered!.from).toBe(RANGE.from);
    expect(covered!.to).toBeGreaterThan(START + 550);
    expect(covered!.to).toBeLessThanOrEqual(START + 600 - 30);
  }
  await opened.close();
});

test('another chain under the same global_id is refused, and one that only dropped its first blocks is not', async () => {
  const open = () => network.crawl(() => Promise.resolve());
  await network.serve();
  await open();
  await network.serve({ duration: 600, seed: 8 });
  await expect(open()).rejects.toMatchObject({ exitCode: 2, code: 'wrong_database' });
  // The index begins later, and has dropped the block that is remembered.
  await network.serve({ start: START + 4000, duration: 600, firstSeqno: 1600 });
  await open();
});

interface Named {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

const nameOf = ({ workchain, shard, seqno }: Named) =>
  `{"workchain":${workchain},"shard":"${shard}","seqno":${seqno},"root_hash"`;

/** Serves the network over a proxy that alters one block wherever it is named as itself, and never as a parent. */
async function withMisplaced<T>(block: Named, instead: Named, work: (url: string) => Promise<T>): Promise<T> {
  const { workchain, shard, seqno } = block;
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, network.simulator.url);
    const isNamed =
      searchParams.get('workchain') === String(workchain) &&
      searchParams.get('shard') === shard &&
      searchParams.get('seqno') === String(seqno);
    void fetch(network.simulator.url + request.url!).then(async (answer) => {
      const altered = (await answer.text()).replaceAll(nameOf(block), nameOf(instead));
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(isNamed && pathname === '/api/v3/blocks' ? '{"blocks":[]}' : altered);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await work(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** A block of the network, a while after its start. */
const blockOf = (workchain: number): Named =>
  [...network.simulator.truth.blocks()].find(
    (block) => block.workchain === workchain && Number(block.gen_utime) > START + 600,
  )!;

const MISPLACED: readonly [string, number, (block: Named) => Partial<Named>][] = [
  ['of a shard of another workchain', 0, () => ({ workchain: 5 })],
  ['of the masterchain, in another workchain', -1, () => ({ workchain: 5 })],
  ['of the masterchain, in a shard that it does not have', -1, () => ({ shard: '4000000000000000' })],
  ['of a shard in a workchain below the masterchain', 0, () => ({ workchain: -7 })],
  ['of the masterchain, among the shards', -1, () => ({ workchain: 0 })],
  ['of a shard, in the masterchain', 0, () => ({ workchain: -1 })],
  ['of the masterchain, in a shard that does not exist', -1, () => ({ shard: '8000000000000001' })],
  ['of a shard that does not exist', 0, () => ({ shard: '4000000000000001' })],
  ['of a shard beside its own', 0, () => ({ shard: '0800000000000000' })],
  ['of half its shard, which did not split', 0, ({ shard }) => ({ shard: halfOf(shard) })],
];

/** Covers the range from a source with a misplaced block. It goes to quarantine and is no gap. */
async function expectQuarantined(block: Named, instead: Named): Promise<void> {
  const work = async (url: string) => {
    const opened = await openTestCrawl(network.store, url, { maxAttempts: 2, hasty: true });
    const datasets = await datasetsNamed('blocks', 'transactions');
    const jobs = splitKinds(await loadJobs()).streams;
    const options = { ...opened, datasets, range: RANGE, jobs, stop: never, watermark: START + DURATION };
    const { missing } = await coverStreams({ ...options, held: undefined, onDerived: () => undefined });
    expect([...missing.values()].flat()).toEqual([]);
    expect(await readGaps(network.store.database, [RANGE])).toEqual([]);
    const unfit = await network.store.database.rows(
      sql`select dataset, path from etl.quarantine`,
      z.object({ dataset: z.string(), path: z.string() }),
    );
    expect(unfit).toEqual([
      { dataset: 'blocks', path: expect.stringMatching(/^(workchain|shard)$/) as string },
    ]);
    expect(await stored('blocks', RANGE)).toBe(network.simulator.truth.counts(RANGE).blocks - 1);
    const proof = await openProof(network.store, opened);
    await proof.repair(datasets, RANGE, await proof.verify(datasets, RANGE));
    expect(await readGaps(network.store.database, [RANGE])).toEqual([]);
    // A source that has no gap holds no watermark back.
    await requireNoGap({ api: opened.context.api, priority: 'tail', signal: never.leaving });
    await opened.close();
  };
  await withMisplaced(block, instead, work);
}

async function requireNoGap(asking: Parameters<typeof missingMasterchain>[0]): Promise<void> {
  const { missing } = await missingMasterchain(asking, RANGE);
  for (const span of missing) expect(await findGaps(asking, span)).toEqual([]);
}

test.for(some(MISPLACED, 1))('a block %s goes to quarantine and is no gap', async ([, workchain, change]) => {
  await network.serve();
  const block = blockOf(workchain);
  await expectQuarantined(block, { ...block, ...change(block) });
});

/** The first of the two shards that a shard would split into. */
function halfOf(shard: string): string {
  const id = BigInt(`0x${shard}`);
  return (id - (id & -id) / 2n).toString(16).toUpperCase();
}
