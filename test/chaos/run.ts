import pg from 'pg';
import type { Simulator } from '../../src/simulator/server.ts';
import { urlOf, type Cluster } from './cluster.ts';
import type { Harm, Plan } from './plan.ts';
import type { Proxy } from './proxy.ts';
import type { Spoiler } from './spoil.ts';

/** A seed that is running. */
export interface Run {
  readonly plan: Plan;
  readonly cluster: Cluster;
  /** Where its workers' words go. */
  readonly directory: string;
  /** Of its database. */
  readonly name: string;
  readonly simulator: Simulator;
  readonly spoiler: Spoiler;
  readonly proxy: Proxy;
  /** The program's way to the database. */
  readonly url: string;
  readonly harms: Map<Harm, number>;
}

export const DATASETS = ['blocks', 'transactions', 'traces', 'jetton_transfers', 'actions'];

/** What the program is told by its environment. */
export function settingsOf({ url, simulator }: Run): Record<string, string> {
  return {
    ...{ DATABASE_URL: url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '1000' },
    ...{ ETL_SINCE: 'first', ETL_FRESHNESS: '1s', ETL_ATTEMPTS: '20', LOG_FORMAT: 'json' },
  };
}

/** A connection of the harness' own, past the line that it cuts. */
export async function withClient<T>(
  { cluster, name }: Pick<Run, 'cluster' | 'name'>,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: urlOf(cluster.url, name) });
  client.on('error', () => undefined);
  await client.connect();
  return work(client).finally(() => client.end());
}
