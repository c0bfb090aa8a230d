import type { ChainInfo } from '../crawl/watermark/chain-info.ts';
import type { Database } from '../db/connection/database.ts';
import { networkName, readNetwork } from '../db/connection/network.ts';
import { formatDuration } from '../range.ts';
import type { Finding } from './finding.ts';

/** A chain whose newest block is older than this stands still, or the server that was asked lags; seconds. */
const STALE = 300;

/** Compares the network of the database with the one that the API serves. */
export async function examineNetwork(database: Database, { globalId }: ChainInfo): Promise<Finding[]> {
  const held = await readNetwork(database);
  if (held === undefined || held === globalId) return [];
  return [
    {
      check: 'network',
      what: `the database holds ${networkName(held)}, the API serves ${networkName(globalId)}`,
      remedy:
        'Set DATABASE_URL (or ETL_DATA_DIR) to another database, or TONCENTER_NETWORK to the network it holds.',
    },
  ];
}

/** Compares the newest block that the API shows with the clock, `now` in unix seconds. */
export function examineHead({ last }: ChainInfo, now: number): Finding[] {
  const age = now - last.utime;
  if (age >= -STALE && age <= STALE) return [];
  return [
    {
      check: 'head',
      what:
        age > 0
          ? `the newest block that the API shows is ${formatDuration(age)} old`
          : `the newest block that the API shows lies ${formatDuration(-age)} in the future`,
      remedy:
        age > 0
          ? 'The API lags or the network stands still: what is older is read meanwhile, nothing is lost.'
          : "This machine's clock is slow: let it follow a time server.",
    },
  ];
}
