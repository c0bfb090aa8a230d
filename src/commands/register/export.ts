import type { Command } from 'commander';
import type { exportRows } from '../export.ts';
import { runCommand } from '../command.ts';
import { examples, datasetList } from './words.ts';

export function registerExport(program: Command): void {
  program
    .command('export')
    .description(
      'bring what is covered into a lake of Parquet files, or into CSV files; a re-run adds to the lake what is new',
    )
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .requiredOption(
      '--out <place>',
      'directory of the lake or of the CSV files, or s3://bucket/prefix of a lake',
    )
    .option(
      '--only <datasets>',
      'these datasets alone, with commas between; all that are covered without it',
      datasetList,
    )
    .option('--format <parquet|csv>', 'a lake of Parquet files, or a CSV file for each table', 'parquet')
    .option(
      '--spreadsheet',
      'with --format csv: as Excel and LibreOffice read it, without formulas and lost digits',
    )
    .addHelpText(
      'after',
      examples(
        'toncenter-etl export --from 2026-11 --to now --out ./lake',
        'toncenter-etl export --only blocks --from -7d --to now --format csv --out week',
      ),
    )
    .action((flags: Parameters<typeof exportRows>[1]) =>
      runCommand(async (invocation) => (await import('../export.ts')).exportRows(invocation, flags)),
    );
}
