import { openCrawl } from '../app/open-crawl.ts';
import { runBackfill } from '../backfill/run-backfill.ts';
import { createCappedBudget } from '../budget/capped-budget.ts';
import { systemClock } from '../clock.ts';
import { threadsFor } from '../crawl/page-threads.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { outlast } from '../retry.ts';
import type { Invocation } from './command.ts';
import { createBackfillReport } from './output/backfill-report.ts';
import { progressStyle } from './output/progress/open-progress.ts';
import type { BackfillFlags, BackfillWanted } from './parse/backfill-flags.ts';
import type { OpenedHost } from './with-host.ts';

/** Does what a backfill is asked for, in a database that is there. */
export async function coverRange(
  { config, logger }: Pick<Invocation, 'config' | 'logger'>,
  flags: BackfillFlags,
  chosen: Omit<BackfillWanted, 'deadlineMs'>,
  opened: OpenedHost,
): Promise<ExitCode> {
  const { maxRequests: allowed, record, quiet, again = false, dryRun = false } = flags;
  const { attempts } = config;
  const waiting = { clock: systemClock, random: Math.random, attempts, logger };
  const crawl = await outlast({ ...waiting, signal: opened.stop.finishing }, 'the API', () =>
    openCrawl({
      config,
      logger,
      ...opened,
      record,
      threads: flags.threads ?? threadsFor(config.rps),
      budget: (plan) => (allowed === undefined ? plan : createCappedBudget(plan, allowed)),
    }),
  );
  opened.stop.finishing.throwIfAborted();
  if (crawl === undefined) return EXIT.incomplete;
  /** What `--quiet` says only where it is not done. */
  const held: string[] = [];
  let isWhole = false;
  try {
    const { watermarkDelay: delaySeconds, choices, rps } = config;
    const shared = { ...chosen, baseUrl: opened.baseUrl };
    const report = createBackfillReport({
      ...shared,
      crawl,
      style: progressStyle(config, quiet),
      rps,
      allowed,
      say: quiet === true ? (line) => void held.push(line) : console.log,
    });
    const settings = { delaySeconds, choices, attempts, again, dryRun };
    isWhole = await runBackfill({ ...crawl, ...shared, ...settings, stop: opened.stop }, report);
    return isWhole ? EXIT.done : EXIT.incomplete;
  } finally {
    if (!isWhole) for (const line of held) console.error(line);
    await crawl.close();
  }
}
