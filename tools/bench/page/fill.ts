import pg from 'pg';
import { sql } from 'drizzle-orm';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { noTurns } from '../../../src/crawl/collections/walk-context.ts';
import { readCollections } from '../../../src/crawl/collections/read-collections.ts';
import { loadDatasets } from '../../../src/dataset/load-jobs.ts';
import { chooseDatasets, piggybackedCollections, splitKinds } from '../../../src/dataset/dataset.ts';
import { migrate } from '../../../src/migrate/migrate.ts';
import { openDatabase, type Database } from '../../../src/postgres/database.ts';
import { DAY, type Range } from '../../../src/range.ts';
import { demoNetwork } from '../../../src/app/open-crawl.ts';
import { closedDays } from '../../../src/tables/etl/verification.ts';
import { bare } from '../../../src/postgres/sql.ts';
import type { SimulatorOptions } from '../../../test/support/simulator/simulator.ts';
import { EXCHANGE } from '../../docs/answers-of-dashboards.ts';
import { serveNetwork } from '../network.ts';
import { openBenchCrawl } from '../open-crawl.ts';

/** Days of the network: the reports of the first ones are closed, the last one is open. */
export const DAYS = 3;

/** Lists that give amounts their decimals, and accounts their names; of accounts only those that are watched. */
const LISTS = [
  ...['jetton_masters', 'jetton_wallets', 'nft_collections', 'nft_items', 'nft_sales'],
  ...['address_book', 'token_metadata', 'account_states'],
];

/** The demo's network for three days, with its accounts and jettons, of about so many transactions. */
function networkOf(transactions: number): SimulatorOptions & { start: number; duration: number } {
  const load = { base: transactions / (DAYS * DAY), dayCycle: 0.3 };
  const accounts = Math.max(800, Math.round(transactions / 200));
  return { ...demoNetwork, duration: DAYS * DAY, accounts, load, masterchainInterval: 5, tickTockEvery: 500 };
}

/**
 * Crawls such a network into an empty database through the program's own crawler, and stores the sums of its
 * first days.
 */
export async function fillPage(url: string, transactions: number): Promise<void> {
  const database = await openDatabase({ url, applicationName: 'bench' });
  await migrate(database);
  const network = networkOf(transactions);
  const served = await serveNetwork(network);
  const { crawl, stop, close } = await openBenchCrawl(served.url, url);
  const all = await loadDatasets();
  const wanted = { from: network.start, to: crawl.chain.last.utime };
  const readable = await findReadablePart({ ...crawl, wanted, delaySeconds: 0, signal: stop.leaving });
  await fillRange({ ...crawl, datasets: splitKinds(chooseDatasets(['all'], all)).streams, readable, stop });
  await readCollections(
    {
      context: crawl.context,
      owner: crawl.owner,
      range: () => wanted,
      stop,
      priority: 'backfill',
      choices: { accounts: 'watched', bocs: false },
      piggybacked: piggybackedCollections(splitKinds(all).collections),
      firstSeqno: crawl.chain.first.seqno,
      turns: noTurns,
    },
    splitKinds(chooseDatasets(LISTS, all)).collections,
  );
  await close();
  await served.stop();
  await database.run(sql`insert into etl.labels (address, label, category, imported_from)
    values (${EXCHANGE.address}, ${EXCHANGE.label}, ${EXCHANGE.category}, 'bench')`);
  await keepDays(database, { from: network.start, to: network.start + (DAYS - 1) * DAY });
  await database.close();
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query('vacuum analyze');
  await client.end();
}

/** Stores the sums of whole days as if their datasets were verified. */
async function keepDays(database: Database, { from, to }: Range): Promise<void> {
  for (let start = from; start < to; start += DAY) {
    const day = new Date(start * 1000).toISOString().slice(0, 10);
    await database.run(sql`insert into ${closedDays} (${bare(closedDays.relation, closedDays.day, closedDays.definition)})
      select r, ${day}::date, md5(pg_get_viewdef(('etl.open_' || r)::regclass)) from etl.reports_by_day() r`);
    await database.run(sql`select etl.keep_day(r, ${day}::date) from etl.reports_by_day() r`);
  }
}
