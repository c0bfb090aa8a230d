import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { chooseDatasets, splitKinds } from '../dataset/dataset.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { parseDuration, parseTime } from '../range.ts';
import { pollLagOf, restingLagsOf } from '../status/lag.ts';
import { followedDatasets, readinessOf, sayReasons } from '../status/readiness.ts';
import { readReport } from '../status/report.ts';
import type { Invocation } from './command.ts';
import { printStatus } from './output/status/status-report.ts';
import { withStore } from './with-store.ts';

/** `status`: where every dataset stands, from the database alone. */
export async function status(
  invocation: Invocation,
  flags: { json?: boolean; check?: boolean; maxLag?: string; from?: string },
): Promise<ExitCode> {
  const { config } = invocation;
  const maxLagSeconds = flags.maxLag === undefined ? undefined : parseDuration(flags.maxLag);
  const from = flags.from === undefined ? undefined : parseTime(flags.from, invocation.now);
  if ((maxLagSeconds !== undefined || from !== undefined) && flags.check !== true)
    throw new UsageError('--max-lag and --from say what --check expects: give --check, too');
  return withStore(invocation, 'toncenter-etl status', async (store) => {
    const all = await loadDatasets();
    const report = await readReport(store.database, all, { rows: 'exact' });
    const chosen = splitKinds(chooseDatasets(config.datasets, all)).streams;
    const followed = followedDatasets(chosen, config.schedules);
    const restingLags = restingLagsOf(followed, config);
    const pollLag = pollLagOf(config);
    if (flags.json === true) console.log(JSON.stringify({ ...report, pollLag, restingLags }, null, 2));
    else printStatus(report, { pollLag, restingLags, demoDir: demoDirOf(config.dataDir) });
    if (flags.check !== true) return EXIT.done;
    const readiness = readinessOf(report, followed, { ...config, maxLagSeconds, from });
    for (const reason of sayReasons(readiness, report.at)) console.error(`check     ${reason}`);
    return readiness.ready ? EXIT.done : EXIT.incomplete;
  });
}

/** Where `demo` has left rows; undefined if it has not run here, or there is no directory for data. */
function demoDirOf(dataDir: string | undefined): string | undefined {
  if (dataDir === undefined) return undefined;
  const demoDir = join(dataDir, 'demo');
  return existsSync(demoDir) ? demoDir : undefined;
}
