import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Order } from './lane.ts';
import { bundle } from './bundle.ts';
import { runOrders } from './lanes.ts';
import { compileMutant, MUTANTS } from './mutants.ts';
import type { Outcome } from './run-seed.ts';
import { commandOf, printSummary, tellOutcome } from './summary.ts';

/*
 * Lets real processes crawl a live simulated network while the API, the processes and the database are
 * harmed, and compares every table with the truth.
 *
 *   npm run chaos -- --seed 7 --seconds 20 --processes 3     one seed; a seed decides network, faults and schedule
 *   npm run chaos -- --seeds 20 --at-once 4                  seeds 1 to 20, four at a time
 *   npm run chaos -- --seed 1 --minutes 15                   a soak, which also prints memory
 *   npm run chaos -- --mutants                               bugs are put into copies of the program: each must be caught
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    seconds: { type: 'string' },
    minutes: { type: 'string' },
    processes: { type: 'string', default: '2' },
    'at-once': { type: 'string', default: '4' },
    mutants: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
/** How many seeds are tried for each mutant. */
const MUTANT_SEEDS = 8;
const PROGRAM = join(import.meta.dirname, '../..');
const seconds = values.minutes === undefined ? Number(values.seconds ?? 20) : 60 * Number(values.minutes);
const [first, processes, atOnce] = [Number(values.seed), Number(values.processes), Number(values['at-once'])];
const began = performance.now();
process.exitCode = values.mutants ? await catchMutants() : await runSeeds();

async function runSeeds(): Promise<number> {
  const orders = Array.from({ length: Number(values.seeds) }, (_, index): Order => ({
    seed: first + index,
    seconds,
    processes,
    faults: {},
  }));
  const outcomes: Outcome[] = [];
  let postgres = '';
  await bundle(PROGRAM);
  await runOrders(PROGRAM, orders, Math.min(atOnce, orders.length), (order, reply) => {
    outcomes.push(reply.outcome);
    postgres = reply.postgres;
    tellOutcome(reply.outcome, commandOf(order));
  });
  printSummary(outcomes, { postgres, tookMs: performance.now() - began });
  return outcomes.every(({ problems }) => problems.length === 0) ? 0 : 1;
}

async function catchMutants(): Promise<number> {
  const chosen = MUTANTS.filter(({ name }) => values.only === undefined || values.only === name);
  let escaped = 0;
  await Promise.all(
    inShares(chosen, atOnce).map(async (share) => {
      for (const mutant of share) {
        const directory = join(PROGRAM, '..', 'chaos-mutants', mutant.name.replaceAll(/\W+/g, '-'));
        await compileMutant(PROGRAM, directory, mutant);
        await bundle(directory);
        const caught = await catchOne(directory, mutant.faults ?? {});
        if (caught === undefined) escaped += 1;
        console.log(
          caught === undefined
            ? `ESCAPED   ${mutant.name}: ${mutant.what}; ${MUTANT_SEEDS} seeds`
            : `caught    ${mutant.name}: seed ${caught.seed}: ${caught.problems[0]?.split('\n')[0] ?? ''}`,
        );
        await rm(directory, { recursive: true, force: true });
      }
    }),
  );
  const tookS = Math.round((performance.now() - began) / 1000);
  console.log(`${chosen.length} mutants, ${chosen.length - escaped} caught, ${escaped} escaped, ${tookS} s`);
  return escaped === 0 ? 0 : 1;
}

/** Runs seeds until one notices the bug. */
async function catchOne(program: string, faults: Order['faults']): Promise<Outcome | undefined> {
  let caught: Outcome | undefined;
  function* orders(): Generator<Order> {
    for (let seed = first; seed < first + MUTANT_SEEDS && caught === undefined; seed += 1)
      yield { seed, seconds, processes, faults };
  }
  await runOrders(program, orders(), 1, (_, { outcome }) => {
    if (outcome.problems.length > 0) caught = outcome;
  });
  return caught;
}

function inShares<T>(list: readonly T[], shares: number): T[][] {
  return Array.from({ length: shares }, (_, share) => list.filter((__, index) => index % shares === share));
}
