import type { Command } from 'commander';
import { chooseDatasets, needsRange, piggybackedCollections, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { createHeldLogger } from '../logger.ts';
import { parseDuration, type Range } from '../range.ts';
import { datasetList, examples, parseEnds, TIMES, wholeNumber } from './option-words.ts';
import { type Invocation, runCommand, withSource } from './run-command.ts';
import type { BackfillFlags, BackfillWanted } from './cover-range.ts';

export function defineBackfill(command: Command): void {
  command
    .option('--from <time>', 'first second of the range, UTC')
    .option('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, separated by commas', datasetList)
    .option('--max-requests <n>', 'stop after this many requests (exit 3, progress kept)', wholeNumber)
    .option('--deadline <duration>', 'stop after this time, e.g. 2h (exit 3, progress kept)')
    .option('--again', 'read a second time what has matured since its first reading')
    .option('--dry-run', 'print what would be read, and stop')
    .option('--record <dir>', 'keep every response of the API there, for `simulate --corpus <dir>`')
    .option('--quiet', 'prints nothing if all is covered, else what is missing and the warnings, on stderr')
    .addHelpText(
      'after',
      `
${TIMES}
${examples(
  'toncenter-etl backfill --from 2026-11-01 --to 2026-11-02',
  'toncenter-etl backfill --from -6h --to now --only transactions',
  '# every night; goes on where it stopped:',
  'toncenter-etl backfill --from 2026-01 --to -1h --deadline 2h',
)}`,
    )
    .action((flags: BackfillFlags) => runCommand((invocation) => backfill(invocation, flags)));
}

/**
 * `backfill --from … --to …`: covers a range of time once, and says what is missing if it cannot. Collections are
 * read after the streams, which name what to look up.
 */
export async function backfill(invocation: Invocation, flags: BackfillFlags): Promise<ExitCode> {
  if (flags.quiet !== true || invocation.config.logLevel !== 'info') return cover(invocation, flags);
  // Cron mails all output, so nothing is printed if the run succeeds.
  const { logger, release } = createHeldLogger({ level: 'warn', format: invocation.config.logFormat });
  let code: ExitCode | undefined;
  try {
    code = await cover({ ...invocation, logger }, flags);
    return code;
  } finally {
    if (code !== EXIT.done) release();
  }
}

async function cover(invocation: Invocation, flags: BackfillFlags): Promise<ExitCode> {
  const { deadlineMs, ...chosen } = await parseBackfill(invocation, flags);
  // Loads the larger part of the program while the database migrates.
  const load = () => import('./cover-range.ts');
  const meanwhile = () => void load().catch(() => undefined);
  return withSource(invocation, { migrates: true, deadlineMs, meanwhile }, async (opened) =>
    (await load()).coverRange(invocation, flags, chosen, opened),
  );
}

/** @throws UsageError if a range is needed and none, or only one end, was given */
async function parseBackfill({ config, now }: Invocation, flags: BackfillFlags): Promise<BackfillWanted> {
  const deadlineMs = flags.deadline === undefined ? undefined : parseDuration(flags.deadline) * 1000;
  const all = await loadDatasets();
  const known = splitKinds(all);
  const words = flags.only ?? config.datasets;
  const { streams, collections } = splitKinds(chooseDatasets(words, all));
  return {
    jobs: known.streams,
    datasets: streams,
    collections,
    named: new Set(words),
    piggybacked: piggybackedCollections(known.collections),
    wanted: rangeOf(flags, [...streams, ...collections.filter(needsRange)], now),
    deadlineMs,
  };
}

function rangeOf(
  flags: BackfillFlags,
  needing: readonly { readonly name: string }[],
  now: number,
): Range | undefined {
  if (flags.from === undefined && flags.to === undefined && needing.length === 0) return undefined;
  const names = needing.map(({ name }) => name).join(', ');
  return parseEnds(flags, now, { names, otherwise: 'Lists and look-ups alone need none.' });
}
