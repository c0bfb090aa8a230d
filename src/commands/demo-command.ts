import type { Command } from 'commander';
import { basename, join } from 'node:path';
import { openCrawl } from '../app/open-crawl.ts';
import type { Store } from '../app/open-store.ts';
import { runBackfill } from '../backfill/run-backfill.ts';
import { type AnyJob, chooseDatasets, type Dataset, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { runSql } from '../read/free-sql.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { createLogger } from '../logger.ts';
import { configOfDemo, requireDataDir } from '../settings/config.ts';
import { commandLine } from '../terminal/program-name.ts';
import { createBackfillReport } from './cover-range.ts';
import { progressStyle } from './progress-display.ts';
import { examples } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withSource } from './run-command.ts';
import { formatTable } from './table.ts';

export function defineDemo(command: Command): void {
  command
    .addHelpText('after', examples('toncenter-etl demo', 'npm run demo    # in a checkout'))
    .action(() => runCommand(demo));
}

/** Datasets with the decimals of amounts, the owners of jetton wallets and the names of accounts: small, and read in seconds. */
const NAMES = [
  'jetton_masters',
  'jetton_wallets',
  'nft_collections',
  'address_book',
  'token_metadata',
  'multisig_wallets',
];
/** The whole network is read: neither the range nor the number of requests is limited. */
const UNBOUNDED = { wanted: undefined, allowed: undefined };
const ONCE = { piggybacked: [], delaySeconds: 0, again: false, dryRun: false };

/** `demo`: the whole way from an API to SQL answers on this machine: simulator, crawl, Postgres. */
async function demo({ config: given, logger, now }: Invocation): Promise<ExitCode> {
  const { hasData } = await import('../embedded/embedded.ts');
  const own = requireDataDir(given);
  // The second time, the directory may be the one that the first time has named.
  const dataDir = basename(own) === 'demo' && (await hasData(own)) ? own : join(own, 'demo');
  const config = configOfDemo(given, dataDir);
  // The bars show the progress. Log lines for each range would scroll them off the screen.
  const level = given.logLevel === 'info' ? 'warn' : given.logLevel;
  const invocation = { config, now, logger: createLogger({ level, format: given.logFormat }) };
  const available = await loadDatasets();
  const datasets = splitKinds(available).streams;
  const collections = splitKinds(chooseDatasets(NAMES, available)).collections;
  return withSource({ ...invocation, logger }, { migrates: true }, async (opened) => {
    const { store, stop, baseUrl } = opened;
    return closeAfter(await openCrawl({ ...opened, ...invocation }), async (crawl) => {
      const { chain } = crawl;
      const wanted = { from: chain.first.utime, to: chain.last.utime };
      const shared = { datasets, collections, baseUrl };
      const style = progressStyle(config);
      const report = createBackfillReport({ ...shared, ...UNBOUNDED, crawl, style });
      const { attempts } = config;
      const choices = { ...config.choices, accounts: 'seen' as const };
      const run = { ...crawl, ...shared, ...ONCE, jobs: datasets, wanted, choices, attempts, stop };
      const isWhole = await runBackfill(run, report);
      if (!isWhole) return EXIT.incomplete;
      await runSql(store.database, DOLLAR, { write: true });
      await printTables(store, [...datasets, ...collections]);
      return EXIT.done;
    });
  });
}

/**
 * The simulated network has no USDT. For prices in USD, the jetton that is traded for TON most, at a likely price, counts as
 * a dollar.
 */
const DOLLAR = `
  insert into etl.stable_jettons (address, symbol, decimals)
  select m.address, m.symbol, m.decimals from daily_prices p join jetton_masters m on m.address = p.asset
  where p.price_ton between 0.05 and 5 and m.symbol is not null and m.decimals > 0
    and not exists (select from etl.stable_jettons s join jetton_masters known on known.address = s.address)
  group by m.address order by sum(p.trades) desc, m.address limit 1`;

const DOLLARS = `
  select s.address, s.symbol, s.decimals from etl.stable_jettons s join jetton_masters m on m.address = s.address`;

const HOUR = `
  select account, count(*) as transactions, round(sum(total_fees) / 1e9, 4) as fees_ton
  from transactions
  where utime >= '2026-01-01 01:00Z' and utime < '2026-01-01 02:00Z'
  group by account order by transactions desc limit 5`;

const LAST_BLOCKS = `
  select utime, workchain, shard, seqno, tx_count from blocks order by utime desc, workchain, shard limit 5`;

/** Prints the result of the demo: row counts, some questions with their answers, and how to ask more. */
async function printTables({ database }: Store, datasets: readonly Dataset<AnyJob>[]): Promise<void> {
  const names = [...new Set(datasets.flatMap(({ job }) => Object.keys(job.tables)))].sort();
  const counts = names
    .map((name) => `select '${name}' as "table", count(*) as rows from ton.${name}`)
    .join(' union all ');
  await show(database, 'What landed', `select * from (${counts}) counted where rows > 0 order by "table"`);
  await show(database, 'The busiest accounts between 01:00 and 02:00', HOUR);
  await show(database, 'The last blocks', LAST_BLOCKS);
  await show(database, 'The jetton that counts as a dollar here (etl.stable_jettons)', DOLLARS);
  console.log(`
Now ask it yourself:
  ${commandLine(`sql "${LAST_BLOCKS.trim().replaceAll(/\s+/g, ' ')}"`)}
  ${commandLine('status')}`);
}

async function show(database: Store['database'], title: string, query: string): Promise<void> {
  const { columns, rows } = await runSql(database, query, { write: false });
  const cells = rows.map((row) => row.map((cell) => cell ?? ''));
  console.log(`\n${title}\n${formatTable(columns, cells)}`);
}
