import { prune } from '../write/expire.ts';
import { keptBy } from '../lake/kept-by.ts';
import { readWanted } from '../ledger/wanted.ts';
import { untilAborted } from '../stop.ts';
import { type DaemonContext, type ChainPosition, runRounds } from './daemon-context.ts';
import { unixSeconds } from '../clock.ts';
import { HOUR } from '../range.ts';

/** Milliseconds between two rounds. */
const PERIOD_MS = 1000 * HOUR;

/** Drops expired partitions every hour. */
export async function runRetentionLoop(options: DaemonContext, position: ChainPosition): Promise<void> {
  const { context, config, stop } = options;
  const { database, clock, logger } = context;
  if (config.retention.seconds.size === 0) return untilAborted(stop.finishing);
  const round = async () => {
    const { kept, unproved } = await keptBy(config, database, unixSeconds(clock));
    for (const { name, why } of unproved)
      logger.warn({ partition: name, reason: why }, 'partition not dropped: not proved to be in the lake');
    const { dropped, left } = await prune(database, kept, context);
    position.since = await readWanted(database);
    for (const { name, rows, bytes } of dropped)
      logger.info({ partition: name, rows, bytes }, 'partition dropped: retention expired');
    for (const { name } of left)
      logger.warn(
        { partition: name },
        'partition not dropped: a session has been reading its table for a long time, or has just written to it; look at pg_stat_activity',
      );
  };
  await runRounds(options, { what: 'retention', periodMs: PERIOD_MS }, round);
}
