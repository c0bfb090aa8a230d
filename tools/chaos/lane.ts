import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Faults } from '../../src/simulator/faults.ts';
import { openCluster } from './cluster.ts';
import { planOf } from './plan.ts';
import { runSeed, type Outcome } from './run-seed.ts';
import { killAll } from './workers.ts';

/** A seed to run, in the parent process' message. */
export interface Order {
  readonly seed: number;
  readonly seconds: number;
  readonly processes: number;
  /** Faults that replace the seed's own. */
  readonly faults: Faults;
}

export interface Reply {
  readonly outcome: Outcome;
  readonly postgres: string;
}

/** A process that runs seeds, one after the other, on its own database server, in the given directory. */
const [, , directory = '.'] = process.argv;
const cluster = await openCluster(join(directory, 'data'));

process.on('message', (order: Order) => {
  const plan = planOf(order.seed, order.seconds, order.processes);
  const own = join(directory, `seed-${order.seed}`);
  runSeed({ ...plan, faults: { ...plan.faults, ...order.faults } }, cluster, own)
    .catch((error: unknown): Outcome => failed(order.seed, own, error))
    .then(async (outcome) => {
      // The workers' logs are kept only if a person wants to read them.
      if (outcome.problems.length === 0) await rm(own, { recursive: true, force: true });
      if (process.connected) process.send?.({ outcome, postgres: cluster.version } satisfies Reply);
    })
    .catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
});
// The parent has no more seeds, or has ended.
process.on('disconnect', () => {
  killAll();
  void cluster.stop().finally(() => process.exit());
});
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => undefined);
process.send?.('ready');

function failed(seed: number, own: string, error: unknown): Outcome {
  const sentence = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return {
    seed,
    problems: [`the harness itself failed: ${sentence}`],
    faults: {},
    harms: {},
    starts: 0,
    rows: 0,
    rowsLeft: 0,
    requests: 0,
    quarantined: 0,
    memory: [],
    logLines: 0,
    directory: own,
  };
}
