import { openCrawl } from '../app/open-crawl.ts';
import { runBackfill } from '../backfill/run-backfill.ts';
import { createCappedBudget } from '../budget/capped-budget.ts';
import { systemClock } from '../clock.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { outlast } from '../retry.ts';
import type { Invocation } from './command.ts';
import { createBackfillReport } from './output/backfill-report.ts';
import { progressStyle } from './output/progress/open-progress.ts';
import { parseBackfill, type BackfillFlags } from './parse/backfill-flags.ts';
import { threadsFor } from '../crawl/page-threads.ts';
import { withSource } from './with-source.ts';

/**
 * `backfill --from … --to …`: covers a range of time once, and says what is missing if it cannot. Collections are read
 * behind the streams, which name what is looked up in them.
 */
export async function backfill(invocation: Invocation, flags: BackfillFlags): Promise<ExitCode> {
  const { config } = invocation;
  const { deadlineMs, ...chosen } = await parseBackfill(invocation, flags);
  if (flags.quiet === true && config.logLevel === 'info') invocation.logger.level = 'warn';
  return withSource(invocation, { demo: 'still', deadlineMs }, async (opened) => {
    const { maxRequests: allowed, record, quiet, again = false, dryRun = false } = flags;
    const { attempts } = config;
    const waiting = { clock: systemClock, random: Math.random, attempts, logger: invocation.logger };
    const crawl = await outlast({ ...waiting, signal: opened.stop.finishing }, 'the API', () =>
      openCrawl({
        ...invocation,
        ...opened,
        record,
        threads: flags.threads ?? threadsFor(config.rps),
        budget: (plan) => (allowed === undefined ? plan : createCappedBudget(plan, allowed)),
      }),
    );
    opened.stop.finishing.throwIfAborted();
    if (crawl === undefined) return EXIT.incomplete;
    try {
      const { watermarkDelay: delaySeconds, choices, rps } = config;
      const shared = { ...chosen, baseUrl: opened.baseUrl };
      const report = createBackfillReport({
        ...shared,
        crawl,
        style: progressStyle(config, quiet),
        rps,
        allowed,
      });
      const settings = { delaySeconds, choices, attempts, again, dryRun };
      const isWhole = await runBackfill({ ...crawl, ...shared, ...settings, stop: opened.stop }, report);
      return isWhole ? EXIT.done : EXIT.incomplete;
    } finally {
      await crawl.close();
    }
  });
}
