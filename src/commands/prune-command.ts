import type { Command } from 'commander';
import { systemClock } from '../clock.ts';
import { prune as pruneNow, type Expired, findExpired } from '../write/take-out.ts';
import { EXIT, type ExitCode, UsageError } from '../errors.ts';
import { retentionFloors } from '../lake/retention-floors.ts';
import { formatRange, formatTime } from '../range.ts';
import { examples } from './option-words.ts';
import { type Invocation, runCommand, withStore } from './run-command.ts';
import { formatTable } from './table.ts';

export function definePrune(command: Command): void {
  command
    .option('--dry-run', 'print what would be dropped, and stop')
    .addHelpText('after', examples('ETL_RETENTION=transactions:90d,traces:90d toncenter-etl prune --dry-run'))
    .action((flags: { dryRun?: boolean }) => runCommand((invocation) => prune(invocation, flags)));
}

/**
 * `prune`: drops once what `ETL_RETENTION` does not keep. The daemon does the same every hour. This command is for a
 * database that only `backfill` fills, and shows in advance what a new setting would drop.
 */
async function prune(invocation: Invocation, flags: { dryRun?: boolean }): Promise<ExitCode> {
  const { config, now } = invocation;
  if (config.retention.seconds.size === 0) {
    throw new UsageError('ETL_RETENTION is not set: everything is kept', {
      hint: 'Set it, such as ETL_RETENTION=transactions:90d,blocks:90d.',
    });
  }
  return withStore(invocation, 'toncenter-etl prune', async (store) => {
    const { kept, unproved } = await retentionFloors(config, store.database, now);
    for (const { dataset, floor } of kept) console.log(`kept      ${dataset}: from ${formatTime(floor)} on`);
    for (const { name, why } of unproved) console.log(`stays     ${name}: ${why}`);
    if (flags.dryRun === true) {
      printExpired(await findExpired(store.database, kept), 'would be dropped');
      return EXIT.done;
    }
    const { dropped, left } = await pruneNow(store.database, kept, {
      attempts: config.attempts,
      clock: systemClock,
      random: Math.random,
    });
    printExpired(dropped, 'dropped');
    for (const { name } of left)
      console.log(`left      ${name}: a session is reading or writing its table; run prune again`);
    return left.length + unproved.length === 0 ? EXIT.done : EXIT.incomplete;
  });
}

function printExpired(expired: readonly Expired[], what: string): void {
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  if (expired.length > 0) {
    const rows = expired.map(({ table, name, span, rows: count, bytes }) => [
      ...[table, name, formatRange(span), `${count}`, megabytes(bytes)],
    ]);
    console.log(formatTable(['table', 'partition', 'time', 'rows', 'MB'], rows));
  }
  const bytes = expired.reduce((sum, partition) => sum + partition.bytes, 0);
  console.log(`${what}: ${expired.length} partitions, ${megabytes(bytes)} MB`);
}
