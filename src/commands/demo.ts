import { join } from 'node:path';
import { openCrawl } from '../app/open-crawl.ts';
import { runBackfill } from '../backfill/run-backfill.ts';
import { requireDataDir, RPS_OF_DEMO, type Config } from '../settings/config.ts';
import { chooseDatasets, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { createLogger } from '../logger.ts';
import type { Invocation } from './command.ts';
import { createBackfillReport } from './output/backfill-report.ts';
import { printTables } from './output/demo-tables.ts';
import { progressStyle } from './output/progress/open-progress.ts';
import { withSource } from './with-source.ts';
import { closeAfter } from './close-after.ts';

/** What gives amounts their decimals, and accounts their names: small, and read in seconds. */
const NAMES = ['jetton_masters', 'nft_collections', 'address_book', 'token_metadata', 'multisig_wallets'];
/** The network is read as far as it goes: neither its range nor its requests were asked for. */
const UNBOUNDED = { wanted: undefined, allowed: undefined };
const ONCE = { piggybacked: [], delaySeconds: 0, again: false, dryRun: false };

/** `demo`: the whole way from an API to SQL answers on this machine alone: simulator, crawl, Postgres. */
export async function demo({ config: given, now }: Invocation): Promise<ExitCode> {
  const dataDir = join(requireDataDir(given), 'demo');
  const config: Config = { ...given, network: 'demo', baseUrl: undefined, dataDir, rps: RPS_OF_DEMO };
  // The bars tell how far it is: a line for each range as well would push them off the screen.
  const level = given.logLevel === 'info' ? 'warn' : given.logLevel;
  const invocation = { config, now, logger: createLogger({ level, format: given.logFormat }) };
  const available = await loadDatasets();
  const datasets = splitKinds(available).streams;
  const collections = splitKinds(chooseDatasets(NAMES, available)).collections;
  return withSource(invocation, { demo: 'still', migrates: true }, async (opened) => {
    const { store, stop, baseUrl } = opened;
    return closeAfter(await openCrawl({ ...invocation, ...opened }), async (crawl) => {
      const { chain } = crawl;
      const wanted = { from: chain.first.utime, to: chain.last.utime };
      const shared = { datasets, collections, baseUrl };
      const style = progressStyle(config);
      const report = createBackfillReport({ ...shared, ...UNBOUNDED, crawl, style, rps: RPS_OF_DEMO });
      const { attempts } = config;
      const choices = { ...config.choices, accounts: 'seen' as const };
      const run = { ...crawl, ...shared, ...ONCE, jobs: datasets, wanted, choices, attempts, stop };
      const isWhole = await runBackfill(run, report);
      if (!isWhole) return EXIT.incomplete;
      await printTables(store, [...datasets, ...collections]);
      return EXIT.done;
    });
  });
}
