import { sql } from 'drizzle-orm';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { openDatabase } from '../../../src/postgres/database.ts';
import { migrate } from '../../../src/migrate/migrate.ts';
import { Random, salt } from '../../../src/simulator/random.ts';
import type { Simulator } from '../../../test/support/simulator/simulator.ts';
import { RANGE } from '../matrix/network.ts';
import { openProvedNetwork, type Databases } from '../matrix/proved-network.ts';
import { knownLimits } from '../matrix/docs/last-run.ts';
import { kindsOf, type Kind } from './kinds.ts';
import { runWire, type Outcome } from './run-seed.ts';
import { createWire, type Wire } from './wire.ts';

export interface WireOptions {
  readonly first: number;
  readonly seeds: number;
  /** Only this kind, alone. */
  readonly kind?: string | undefined;
  /** From one seed to the next. */
  readonly step?: number;
  readonly onOutcome?: (outcome: SeedOutcome) => void;
}

export interface SeedOutcome extends Outcome {
  readonly seed: number;
}

/** Kinds that go wrong in one crawl. */
const MIXTURE = 4;

/** Crawls a network a seed, some of whose responses are altered on their way in. */
export async function runWires(databases: Databases, options: WireOptions): Promise<SeedOutcome[]> {
  const way: { wire?: Wire | undefined } = {};
  const network = await openProvedNetwork(1, databases, {
    after: (request, response) => way.wire?.pass(request, response) ?? response,
  });
  try {
    const empty = await databases.template('wire_empty', (url) => prepare(url, network.simulator));
    const kinds = kindsOf(await loadJobs(), await samplesOf(network.simulator));
    const isKnown = await knownLimits();
    const outcomes: SeedOutcome[] = [];
    const { first, seeds, step = 1 } = options;
    for (let seed = first; seed < first + seeds * step; seed += step) {
      const chosen = choose(kinds, seed, options.kind);
      const copy = await databases.clone(empty);
      const { url } = copy;
      const wire = createWire(chosen, seed);
      const use = (one: Wire | undefined) => void (way.wire = one);
      const outcome = await runWire({ network, kinds: chosen, wire, use, url, isKnown }).finally(() =>
        copy.drop(),
      );
      outcomes.push({ seed, ...outcome });
      options.onOutcome?.({ seed, ...outcome });
    }
    return outcomes;
  } finally {
    await network.close();
  }
}

/** All kinds have been used when seeds times mixture reach their number. */
function choose(kinds: readonly Kind[], seed: number, only: string | undefined): Kind[] {
  if (only !== undefined) return kinds.filter(({ name }) => name === only);
  const deck = kinds.toSorted((a, b) => lot(a) - lot(b));
  return Array.from({ length: MIXTURE }, (_, at) => deck[((seed - 1) * MIXTURE + at) % deck.length]!);
}

function lot({ name }: Kind): number {
  return new Random(7, salt(name)).fraction();
}

async function prepare(url: string, { truth }: Simulator): Promise<void> {
  const database = await openDatabase({ url, applicationName: 'proof' });
  try {
    await migrate(database);
    for (const pool of truth.pools) await database.run(sql`insert into etl.watch (address) values (${pool})`);
  } finally {
    await database.close();
  }
}

/** A response of each stream's endpoint. */
async function samplesOf({ url, truth }: Simulator): Promise<Map<string, string>> {
  const samples = new Map<string, string>();
  for (const { job } of await loadJobs()) {
    const search = new URLSearchParams({
      start_utime: String(RANGE.from),
      end_utime: String(RANGE.to),
      limit: '40',
    });
    for (const [name, value] of Object.entries(job.params))
      for (const one of [value].flat()) search.append(name, String(one));
    if (job.scopes !== undefined) search.set(job.scopes.param, truth.pools[0] ?? '');
    const response = await fetch(`${url}${job.path}?${search.toString()}`);
    if (response.ok) samples.set(job.path, await response.text());
  }
  return samples;
}
