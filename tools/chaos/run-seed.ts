import { mkdir } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { startSimulator } from '../../test/support/simulator/simulator.ts';
import { installAudit } from './audit.ts';
import { calm, type Findings } from './calm.ts';
import { urlOf, type Cluster } from './cluster.ts';
import type { Plan } from './plan.ts';
import { openProxy } from './harm/proxy.ts';
import { DATASETS, settingsOf, withClient, type Run } from './run.ts';
import { meetNewerVersion } from './harm/newer-version.ts';
import { createSpoiler } from './harm/spoil.ts';
import { storm } from './harm/storm.ts';
import { within } from './within.ts';
import { startWorkers, type Memory } from './workers.ts';

/** The outcome of a seed. */
export interface Outcome extends Findings {
  readonly seed: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly harms: Readonly<Record<string, number>>;
  /** Processes of the program that were started. */
  readonly starts: number;
  readonly requests: number;
  readonly memory: readonly Memory[];
  /** Lines that the workers wrote. */
  readonly logLines: number;
  /** The directory of the workers' logs. */
  readonly directory: string;
}

/**
 * Lets workers crawl a live network while they, the API and the database are harmed, and compares the result
 * with the truth.
 */
export async function runSeed(plan: Plan, cluster: Cluster, directory: string): Promise<Outcome> {
  await mkdir(directory, { recursive: true });
  const spoiler = createSpoiler(plan.seed);
  const simulator = await startSimulator({
    ...plan.network,
    faults: { ...plan.faults },
    headTime: plan.head.from,
    after: spoiler.spoil,
  });
  const name = `chaos_${plan.seed}`;
  await cluster.dropDatabase(name);
  const own = await cluster.createDatabase(name);
  const proxy = await openProxy(cluster.port);
  const six =
    plan.isIpv6 && hasIpv6() ? await openProxy(Number(new URL(simulator.url).port), '::1') : undefined;
  const url = urlOf(own, name, proxy.port);
  const run: Run = {
    ...{ plan, cluster, directory, name, simulator, spoiler, proxy, six, url },
    harms: new Map(),
    isStill: false,
  };
  try {
    await withClient(run, (client) => installAudit(client, plan.commitMs));
    return await harmAndCompare(run);
  } finally {
    await within(
      30,
      Promise.all([proxy.close(), six?.close(), simulator.close()]),
      () => 'proxy and simulator stay open',
    );
    await cluster.dropDatabase(name);
  }
}

function hasIpv6(): boolean {
  return Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));
}

async function harmAndCompare(run: Run): Promise<Outcome> {
  const { plan, simulator, spoiler, directory } = run;
  const { processes, seed } = plan;
  const workers = startWorkers({
    args: ['sync', '--only', DATASETS.join()],
    settings: settingsOf(run, run.url),
    processes,
    directory,
  });
  try {
    await storm(run, workers);
    if (plan.isMigrated) await meetNewerVersion(run, workers);
  } finally {
    await workers.end();
  }
  const faults = Object.fromEntries([...simulator.stats.byFault, ...spoiler.counts]);
  const { problems, ...found } = await calm(run);
  return {
    seed,
    problems: [...workers.complaints, ...problems],
    ...found,
    directory,
    faults,
    harms: Object.fromEntries(run.harms),
    starts: workers.starts(),
    memory: workers.memory,
    logLines: workers.logLines(),
    requests: simulator.stats.total,
  };
}
