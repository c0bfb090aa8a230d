import type { Command } from 'commander';
import type { backfill } from '../backfill.ts';
import { runCommand } from '../command.ts';
import { examples, datasetList, threads, TIMES, wholeNumber } from './words.ts';

export function registerBackfill(program: Command): void {
  program
    .command('backfill')
    .description('cover a range of time once: exact, resumable, reads only what is missing')
    .option('--from <time>', 'first second of the range, UTC')
    .option('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', datasetList)
    .option('--max-requests <n>', 'stop after so many requests (exit 3, progress kept)', wholeNumber)
    .option('--deadline <duration>', 'stop after so long, e.g. 2h (exit 3, progress kept)')
    .option('--again', 'read a second time what has matured since its first reading')
    .option('--dry-run', 'print what would be read, and stop')
    .option('--record <dir>', 'keep every response of the API there, for `simulate --corpus <dir>`')
    .option('--threads <n>', 'threads that read pages; default what the rate and the cores want', threads)
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
    .action((flags: Parameters<typeof backfill>[1]) =>
      runCommand(async (invocation) => (await import('../backfill.ts')).backfill(invocation, flags)),
    );
}
