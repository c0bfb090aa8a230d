#!/usr/bin/env node
import { Command, InvalidArgumentError } from 'commander';
import { backfill } from './commands/backfill.ts';
import { runCommand } from './commands/command.ts';
import { demo } from './commands/demo.ts';
import { migrate } from './commands/migrate.ts';
import { status } from './commands/status.ts';
import { sync } from './commands/sync.ts';
import { EXIT } from './errors.ts';
import { version } from './package.ts';

const program = new Command('toncenter-etl')
  .description(
    'Reads a TON Center API into Postgres: resumable, under its rate limit, and provably complete.',
  )
  .version(version, '--version')
  .showHelpAfterError('(--help shows what can be said)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.usage));

const list = (text: string) => text.split(',').filter((word) => word !== '');

function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}

program
  .command('backfill')
  .description('cover a range of time once: exact, resumable, no request where it is covered already')
  .requiredOption('--from <time>', 'first second of the range, UTC')
  .requiredOption('--to <time>', 'end of the range, exclusive')
  .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
  .option('--max-requests <n>', 'stop after so many requests (exit 3, progress kept)', wholeNumber)
  .option('--deadline <duration>', 'stop after so long, e.g. 2h (exit 3, progress kept)')
  .option('--dry-run', 'print what would be read, and stop')
  .addHelpText(
    'after',
    `
Times: 2026-11-01, 2026-11, 2026-11-01T10:00Z, unix seconds, -6h, yesterday, now.

Examples:
  toncenter-etl backfill --from 2026-11-01 --to 2026-11-02
  toncenter-etl backfill --from -6h --to now --only transactions
  toncenter-etl backfill --from 2026-01 --to -1h --deadline 2h   # every night: goes on where it stopped`,
  )
  .action((flags: Parameters<typeof backfill>[1]) => runCommand((invocation) => backfill(invocation, flags)));

program
  .command('demo')
  .description(
    'crawl a simulated network into the embedded Postgres and show what landed: no key, no server, no internet',
  )
  .action(() => runCommand(demo));

program
  .command('sync')
  .description('the daemon: keep the datasets complete, from ETL_SINCE to the head, until told to stop')
  .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
  .action((flags: Parameters<typeof sync>[1]) => runCommand((invocation) => sync(invocation, flags)));

program
  .command('status')
  .description('where every dataset stands, from the database alone')
  .option('--json', 'for programs')
  .action((flags: Parameters<typeof status>[1]) => runCommand((invocation) => status(invocation, flags)));

program
  .command('migrate')
  .description('bring the database to this version’s schema; every other command does so at its start')
  .action(() => runCommand(migrate));

await program.parseAsync();
