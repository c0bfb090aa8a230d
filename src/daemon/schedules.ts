import { Cron } from 'croner';
import { backfill } from '../crawl/streams/read-leases.ts';
import { chooseDatasets, type Dataset } from '../dataset/dataset.ts';
import { readWanted } from '../ledger/wanted.ts';
import { isAbort, messageOf } from '../errors.ts';
import { formatRange, lengthOf, parseTime } from '../range.ts';
import type { Schedule } from '../settings/schedule.ts';
import { untilAborted } from '../stop.ts';
import type { DaemonContext, ChainPosition } from './daemon-context.ts';
import { unixSeconds } from '../clock.ts';
import { delayOf } from '../dataset/tail-pace.ts';

/** Attempts while the API or the database is down. After that, the run fails and waits for its next time. */
const ATTEMPTS = 10;

/**
 * Runs the schedules until stopped. If a run has not finished at its next time, it continues, and no second one starts.
 */
export async function runSchedules(daemon: DaemonContext, position: ChainPosition): Promise<void> {
  const { config, stop } = daemon;
  if (stop.finishing.aborted) return;
  const under = new Set<Promise<void>>();
  const crons = config.schedules.map(
    (schedule) =>
      new Cron(schedule.cron, { timezone: 'UTC', protect: true, unref: true }, () => {
        const run = runOnce(daemon, position, schedule);
        under.add(run);
        return run.finally(() => under.delete(run));
      }),
  );
  await untilAborted(stop.finishing);
  for (const cron of crons) cron.stop();
  await Promise.all(under);
}

/**
 * Runs a schedule once. Errors are logged, and the next run tries again. A run costs nothing if its range is covered.
 */
export async function runOnce(
  daemon: DaemonContext,
  position: ChainPosition,
  schedule: Schedule,
): Promise<void> {
  const { context, datasets, stop } = daemon;
  const chosen = chooseDatasets(schedule.only ?? datasets.map(({ name }) => name), datasets);
  try {
    for (const dataset of chosen) await coverOne(daemon, position, schedule, dataset);
  } catch (error) {
    if (isAbort(error) || stop.finishing.aborted) return;
    context.logger.error(
      { schedule: schedule.cron, reason: messageOf(error) },
      'scheduled run failed, retrying at its next time; status shows the last errors',
    );
  }
}

async function coverOne(
  daemon: DaemonContext,
  position: ChainPosition,
  schedule: Schedule,
  dataset: Dataset,
): Promise<void> {
  const { context, planner, chain, stop, config } = daemon;
  const now = unixSeconds(context.clock);
  const watermark = position.watermark.utime;
  const safe = watermark - delayOf(dataset, config.watermarkDelay);
  const since = (await readWanted(context.database)).get(dataset.name) ?? safe;
  const wanted =
    schedule.range === undefined
      ? { from: since, to: safe }
      : { from: parseTime(schedule.range.from, now), to: parseTime(schedule.range.to, now) };
  const range = { from: Math.max(wanted.from, chain.first.utime), to: Math.min(wanted.to, safe) };
  if (range.from >= range.to) return;
  const missing = await backfill({
    context,
    planner,
    stop,
    attempts: ATTEMPTS,
    again: true,
    datasets: [dataset],
    readable: { range, watermark },
  });
  const left = lengthOf([...missing.values()].flat());
  context.logger.info(
    { dataset: dataset.name, range: formatRange(range), seconds: left, schedule: schedule.cron },
    left === 0 ? 'scheduled range is covered' : 'scheduled range is not fully covered',
  );
}
