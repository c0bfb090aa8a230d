import { openCrawl } from '../../app/open-crawl.ts';
import { loadJobs } from '../../dataset/load-jobs.ts';
import { countQuarantined } from '../../db/read/quarantined.ts';
import type { Database } from '../../db/connection/database.ts';
import { EXIT, UsageError, type ExitCode } from '../../errors.ts';
import { rereadSeconds } from '../../quarantine/reread-seconds.ts';
import { retryStored } from '../../quarantine/retry-stored.ts';
import type { Invocation } from '../command.ts';
import { printLeft, printRetried } from '../output/quarantine-report.ts';
import { parseChosen, type QuarantineFlags } from '../parse/quarantine-flags.ts';
import { withHost } from '../with-host.ts';
import { withStore } from '../with-store.ts';
import { closeAfter } from '../close-after.ts';

/**
 * `quarantine retry [ID…]`: reads the stored records with this version's schemas; with `--again` asks the API anew for
 * the seconds of those that still do not fit. Exit 0 where nothing of what was chosen is left.
 */
export function quarantineRetry(
  invocation: Invocation,
  ids: readonly number[],
  flags: QuarantineFlags,
): Promise<ExitCode> {
  return withStore(invocation, 'toncenter-etl quarantine', async (store) => {
    const { database } = store;
    const chosen = await parseChosen(ids, flags);
    await requireRecords(database, ids);
    const jobs = await loadJobs();
    const { partition } = invocation.config;
    const { released, unfit } = await retryStored(database, partition, jobs, chosen);
    printRetried(released, unfit);
    if (unfit.length === 0) return EXIT.done;
    const { again = false } = flags;
    if (again)
      await withHost(invocation, store, async (opened) =>
        closeAfter(await openCrawl({ ...invocation, ...opened }), (crawl) =>
          rereadSeconds({ ...crawl, crawl: crawl.context, stop: opened.stop }, jobs, unfit),
        ),
      );
    const left = await countQuarantined(database, { ids: unfit.map(({ id }) => id) });
    printLeft(left, unfit.length, again);
    return left === 0 ? EXIT.done : EXIT.incomplete;
  });
}

/** @throws UsageError if one of these numbers is no record's */
async function requireRecords(database: Database, ids: readonly number[]): Promise<void> {
  for (const id of ids)
    if ((await countQuarantined(database, { ids: [id] })) === 0)
      throw new UsageError(`there is no record ${id} in quarantine`, {
        hint: '`quarantine list` shows all.',
      });
}
