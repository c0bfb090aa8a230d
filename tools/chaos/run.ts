import pg from 'pg';
import type { Simulator } from '../../test/support/simulator/simulator.ts';
import { urlOf, type Cluster } from './cluster.ts';
import type { Harm, Plan } from './plan.ts';
import type { Proxy } from './harm/proxy.ts';
import { TWO_ADDRESSES } from './harm/two-addresses.ts';
import type { Spoiler } from './harm/spoil.ts';

/** Name of the file that holds the output of a lane and its commands. */
export const LOG = 'lane.log';

/** A seed that is running. */
export interface Run {
  readonly plan: Plan;
  readonly cluster: Cluster;
  /** The directory of its workers' logs. */
  readonly directory: string;
  /** Of its database. */
  readonly name: string;
  readonly simulator: Simulator;
  readonly spoiler: Spoiler;
  readonly proxy: Proxy;
  /** The API's address of IPv6, if it has no other. */
  readonly six: Proxy | undefined;
  /** The workers' connection string of the database, through a connection that can be cut. */
  readonly url: string;
  readonly harms: Map<Harm | 'newer version', number>;
  /** True while the network's head does not move. */
  isStill: boolean;
}

export const DATASETS = ['blocks', 'transactions', 'traces', 'jetton_transfers', 'actions'];

/** The connection string of the database without the proxy that the harness cuts. */
export function directUrl({ cluster, name }: Pick<Run, 'cluster' | 'name'>): string {
  return urlOf(cluster.url, name);
}

/** The address of the API: for many seeds a name with one dead address, for others only IPv6. */
export function apiOf({ simulator, plan, six }: Pick<Run, 'simulator' | 'plan' | 'six'>): string {
  if (six !== undefined) return `http://[::1]:${six.port}`;
  const url = new URL(simulator.url);
  if (plan.hasDeadAddress) url.hostname = TWO_ADDRESSES;
  return url.origin;
}

/** Settings in the program's environment. */
export function settingsOf(run: Run, url: string): Record<string, string> {
  return {
    DATABASE_URL: url,
    TONCENTER_NETWORK: apiOf(run),
    TONCENTER_RPS: '1000',
    ETL_SINCE: 'first',
    ETL_FRESHNESS: '1s',
    ETL_ATTEMPTS: '20',
    LOG_FORMAT: 'json',
  };
}

/** A connection of the harness itself. */
export async function withClient<T>(
  run: Pick<Run, 'cluster' | 'name'>,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  // Writes even while the database is read-only for others.
  const client = new pg.Client({
    connectionString: directUrl(run),
    options: '-c default_transaction_read_only=off',
  });
  client.on('error', () => undefined);
  await client.connect();
  return work(client).finally(() => client.end());
}
