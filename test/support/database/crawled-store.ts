import { sql } from 'drizzle-orm';
import pg from 'pg';
import { fillRange } from '../../../src/crawl/streams/read-leases.ts';
import { findReadablePart } from '../../../src/crawl/streams/readable-part.ts';
import { loadJobs } from '../../../src/dataset/load-jobs.ts';
import { chooseDatasets } from '../../../src/dataset/dataset.ts';
import { openDatabase } from '../../../src/postgres/database.ts';
import { migrate } from '../../../src/migrate/migrate.ts';
import { Chain } from '../../../src/simulator/http/server.ts';
import type { ChainOptions } from '../../../src/simulator/network/chain/options.ts';
import { startSimulator } from '../simulator/simulator.ts';
import type { Range } from '../../../src/range.ts';
import { Truth } from '../simulator/truth.ts';
import { readOnce } from '../collections.ts';
import { never, openTestCrawl } from '../crawl.ts';
import { createDatabase, templateDatabase } from './postgres.ts';

/** A finite network, and the half-open range of it that is crawled. */
export interface CrawledNetwork {
  readonly options: ChainOptions & { readonly start: number; readonly duration: number };
  readonly name: string;
  /** Look-ups that are read besides the usual ones. */
  readonly besides?: readonly string[];
}

/** A row as text, as Postgres prints it. */
export type Printed = Readonly<Record<string, string | null>>;

export interface CrawledStore {
  readonly url: string;
  /** The truth of the network within the crawled range. */
  readonly truth: Truth;
  readonly span: Range;
  /** The range that was read for a dataset: some stay further behind the head than others. */
  readonly spanOf: (dataset: string) => Range;
  /** Runs a statement as an analyst in Tokyo does. */
  ask(statement: string): Promise<Printed[]>;
  close(): Promise<void>;
}

/** All of a network in a separate database, pools included: crawled once a run, through the API, and cloned. */
export async function openCrawledStore({
  options,
  name,
  besides = [],
}: CrawledNetwork): Promise<CrawledStore> {
  const template = await templateDatabase(name, (url) => crawlAll(url, options, besides));
  const { url, drop } = await createDatabase({ template });
  const client = new pg.Client({
    connectionString: url,
    options: '-c timezone=Asia/Tokyo -c search_path=ton,etl,public',
  });
  await client.connect();
  const truth = new Truth(new Chain(options).extendToEnd());
  const ask = async (text: string) =>
    (await client.query<Printed>({ text, types: { getTypeParser: () => String } })).rows;
  const covered = await ask(
    `select dataset, min(lower(covered)) as "from", max(upper(covered)) as "to" from etl.coverage where pass = 0 group by 1`,
  );
  const spans = new Map(
    covered.map(({ dataset, from, to }) => [dataset, { from: Number(from), to: Number(to) }]),
  );
  const spanOf = (dataset: string) => spans.get(dataset) ?? { from: options.start, to: options.start };
  return {
    url,
    truth,
    span: spanOf('transactions'),
    spanOf,
    ask,
    async close() {
      await client.end();
      await drop();
    },
  };
}

/** For values in USD: the jetton of a known symbol that is traded for TON most counts as a dollar. */
export async function countAsDollar(store: CrawledStore): Promise<void> {
  const rows = await store.ask(`insert into etl.stable_jettons
    select m.address, m.symbol, m.decimals from daily_prices p join jetton_masters m on m.address = p.asset
    where m.decimals > 0 and p.price_ton > 0 group by m.address order by sum(p.trades) desc, m.address limit 1 returning address`);
  if (rows.length === 0) throw new Error('no jetton is traded for TON');
}

/** Lists and look-ups that tables of streams are joined with. */
const TOKENS = [
  'jetton_masters',
  'jetton_wallets',
  'nft_collections',
  'nft_items',
  'nft_sales',
  'multisig_wallets',
  'multisig_orders',
  'nominator_pools',
  'vesting_contracts',
];

async function crawlAll(
  url: string,
  options: CrawledNetwork['options'],
  besides: readonly string[],
): Promise<void> {
  const database = await openDatabase({ url, applicationName: 'crawled' });
  const simulator = await startSimulator(options);
  try {
    await migrate(database);
    const store = { url, database, close: () => Promise.resolve() };
    for (const pool of new Truth(new Chain(options).extendTo(options.start + 600)).pools)
      await database.run(sql`insert into etl.watch (address) values (${pool})`);
    const crawl = await openTestCrawl(store, simulator.url);
    const { from, to } = { from: crawl.chain.first.utime, to: crawl.chain.last.utime };
    const readable = await findReadablePart({
      ...crawl,
      wanted: { from, to },
      delaySeconds: 0,
      signal: never.leaving,
    });
    const datasets = chooseDatasets(['all'], await loadJobs());
    const left = await fillRange({ ...crawl, datasets, readable, stop: never });
    await crawl.close();
    await readOnce(store, simulator.url, [...TOKENS, ...besides]);
    if (left.size > 0) throw new Error(`not everything was read: ${[...left.keys()].map(String).join(', ')}`);
  } finally {
    await simulator.close();
    await database.close();
  }
}

/** What a question returns after these changes to the stored rows. No later question sees the changes. */
export async function askAfter(
  store: CrawledStore,
  changes: readonly string[],
  question: string,
): Promise<Printed[]> {
  await store.ask('begin');
  try {
    for (const change of changes) await store.ask(change);
    return await store.ask(question);
  } finally {
    await store.ask('rollback');
  }
}

/** A statement that inserts a row, which says only what it needs. */
export const put = (table: string, row: object): string =>
  `insert into ${table} select * from jsonb_populate_record(null::${table}, '${JSON.stringify({ loaded_at: '2026-02-01T00:00Z', ...row })}')`;
