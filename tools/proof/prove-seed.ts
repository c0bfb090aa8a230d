import { sql } from 'drizzle-orm';
import type { Crawl } from '../../src/app/open-crawl.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { targetOf } from '../../src/write/target.ts';
import { unseal } from '../../src/write/seals.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { formatRange, type Range } from '../../src/range.ts';
import type { HttpResponse } from '../../src/simulator/http/response.ts';
import type { ApiRequest } from '../../src/simulator/http/api.ts';
import { Random } from '../../src/simulator/random.ts';
import { startSimulator, type Simulator } from '../../test/support/simulator/simulator.ts';
import { describeFinding } from '../../src/verify/checks/check.ts';
import { isWhollyVerified, type Verified } from '../../src/verify/verify.ts';
import { datasetsNamed, openTestCrawl } from '../../test/support/crawl.ts';
import type { TestStore } from '../../test/support/database/database.ts';
import { openProof, type Proof } from '../../test/support/verify.ts';
import { differences, type Differences } from './differences.ts';
import { KINDS, type Endpoint, type Injection } from './kinds.ts';

/** The outcome of one injection. */
export interface Outcome {
  readonly kind: string;
  readonly seed: number;
  readonly target: string;
  /** `none`: the network had no record of the kind. `refused`: the crawl itself took no harm. */
  readonly injected: 'yes' | 'none' | 'refused';
  readonly found: boolean;
  readonly healed: boolean;
  /** Seconds that were verified although they differ from the truth: there must be none. */
  readonly falselyVerified: number;
  /** The errors that remain at the end, in the words of the checks. */
  readonly left: readonly string[];
  /** Requests of the crawl, of the first verification, and of the repair. */
  readonly requests: readonly [crawl: number, verify: number, repair: number];
}

const START = Date.UTC(2026, 5, 1) / 1000;
const LIST = /^\/api\/v3\/(blocks|transactions|traces|jetton\/transfers)$/;

/**
 * Crawls a network whose responses go wrong once, verifies, repairs, and compares every step with the truth.
 * `scale` makes the network smaller.
 */
export async function proveSeed(store: TestStore, seed: number, kind: string, scale = 1): Promise<Outcome> {
  const random = new Random(seed, 77);
  const wrong: { injection?: Injection | undefined } = {};
  const simulator = await startSimulator({
    start: START,
    duration: Math.ceil(scale * (240 + random.below(240))),
    seed,
    load: 2 + random.below(8),
    accounts: 200,
    reshardEvery: 10 + random.below(20),
    build: seed % 2 === 0 ? '1.3' : '1.2',
    after: (request, response) => tampered(wrong.injection, request, response),
  });
  const crawl = await openTestCrawl(store, simulator.url, { config: { attempts: 3 } });
  try {
    const run = { store, simulator, crawl, proof: await openProof(store, crawl), kind, seed, random, wrong };
    return await prove(run);
  } finally {
    await crawl.close();
    await simulator.close();
  }
}

interface Run {
  readonly store: TestStore;
  readonly simulator: Simulator;
  readonly crawl: Crawl;
  readonly proof: Proof;
  readonly kind: string;
  readonly seed: number;
  readonly random: Random;
  readonly wrong: { injection?: Injection | undefined };
}

async function prove(run: Run): Promise<Outcome> {
  const { simulator, proof, kind, seed, random, wrong, store } = run;
  const datasets = await datasetsOf(kind, random);
  // Not from the very start of the network: there are blocks before the range, as there are on a real one.
  const wanted = { from: START + 40 + random.below(40), to: simulator.headTime - random.below(30) };
  const readable = await proof.readable(wanted);
  const injection = KINDS[kind]?.(simulator, readable.range ?? wanted, random);
  if (injection === undefined) return nothing(kind, seed);
  // Half of the seeds lose blocks after the crawl.
  const losesLater = injection.lost !== undefined && seed % 2 === 1;
  wrong.injection = losesLater ? undefined : injection;
  const requests = countedBy(simulator);
  const range = await proof.cover(datasets, readable);
  requests.mark();
  wrong.injection = undefined;
  if (losesLater) await loseBlocks(run, range, injection.lost);
  const names = datasets.map(({ name }) => name);
  const compare = () => differences(store.url, simulator, range, names);
  const crawled = await compare();
  await proof.readAgain(datasets, range);
  const before = await compare();
  const first = await proof.verify(datasets, range);
  requests.mark();
  const { reports } = await proof.repair(datasets, range, first);
  requests.mark();
  await proof.readAgain(datasets, range);
  const last = await proof.verify(datasets, range);
  const after = await compare();
  return {
    kind,
    seed,
    target: injection.target,
    ...judge(first, crawled, before),
    healed: last.every((report) => isWhollyVerified(report, range)) && wrongSeconds(after) === 0,
    falselyVerified:
      falselyVerified(first, before) + falselyVerified(reports, after) + falselyVerified(last, after),
    left: last.flatMap(({ findings, missing }) => [
      ...findings.map(describeFinding),
      ...missing.map(formatRange),
    ]),
    requests: requests.steps(),
  };
}

/** Traces carry transactions too: with them some holes of the other stream never appear. */
function datasetsOf(kind: string, random: Random): Promise<Dataset[]> {
  const traces = random.chance(0.5) && !kind.includes('trace') ? [] : ['traces'];
  return datasetsNamed('blocks', 'transactions', 'jetton_transfers', ...traces);
}

/** Requests between two marks. */
function countedBy({ stats }: Simulator) {
  const marks = [stats.total];
  return {
    mark: () => void marks.push(stats.total),
    steps: (): [number, number, number] => {
      const [start = 0, crawled = 0, verified = 0, repaired = 0] = marks;
      return [crawled - start, verified - crawled, repaired - verified];
    },
  };
}

const wrongSeconds = (found: Differences) => [...found.values()].reduce((sum, { size }) => sum + size, 0);

/**
 * Whether the injection did harm, and whether that was found. For a dataset without a checksum the second
 * reading finds it.
 */
function judge(first: readonly Verified[], crawled: Differences, before: Differences) {
  const harmed = wrongSeconds(crawled) > 0;
  const readTwice = wrongSeconds(before) < wrongSeconds(crawled);
  const incomplete = first.some(({ missing }) => missing.length > 0);
  return {
    injected: harmed || incomplete ? ('yes' as const) : ('refused' as const),
    found: first.some(({ findings }) => findings.length > 0) || readTwice || !harmed,
  };
}

async function loseBlocks({ store, simulator }: Run, range: Range, lost: NonNullable<Injection['lost']>) {
  const names = [...simulator.truth.blocks(range)].filter(lost);
  for (const table of [blocks, block_parents]) {
    for (const { workchain, shard, seqno } of names) {
      await store.database.run(sql`delete from ${targetOf(table).into}
        where workchain = ${workchain} and shard = ${shard} and seqno = ${seqno}`);
    }
    await unseal(store.database, table, range);
  }
}

function nothing(kind: string, seed: number): Outcome {
  return {
    kind,
    seed,
    target: '',
    injected: 'none',
    found: true,
    healed: true,
    falselyVerified: 0,
    left: [],
    requests: [0, 0, 0],
  };
}

/** Seconds that are reported as verified and differ from the truth. */
function falselyVerified(reports: readonly Verified[], wrong: Differences): number {
  return reports.reduce((sum, { dataset, verified }) => {
    const seconds = [...(wrong.get(dataset.name) ?? [])];
    return (
      sum + seconds.filter((second) => verified.some(({ from, to }) => second >= from && second < to)).length
    );
  }, 0);
}

function tampered(
  injection: Injection | undefined,
  request: ApiRequest,
  response: HttpResponse,
): HttpResponse {
  const endpoint = LIST.exec(request.path)?.[1];
  if (injection === undefined || endpoint === undefined || response.status !== 200) return response;
  const body = JSON.parse(response.body.toString()) as Record<string, unknown>;
  const list = LISTS[endpoint] ?? endpoint;
  const records = body[list] as Record<string, unknown>[];
  return {
    ...response,
    body: JSON.stringify({ ...body, [list]: injection.tamper(endpoint as Endpoint, records) }),
  };
}

const LISTS: Readonly<Record<string, string>> = { 'jetton/transfers': 'jetton_transfers' };
