#!/usr/bin/env node
import { Command, InvalidArgumentError } from 'commander';
import type { backfill } from './commands/backfill.ts';
import { runCommand } from './commands/command.ts';
import type { datasets } from './commands/datasets.ts';
import type { doctor } from './commands/doctor.ts';
import type { quarantineList, quarantineRetry } from './commands/quarantine.ts';
import type { exportRows } from './commands/export.ts';
import type { reader } from './commands/reader.ts';
import type { plan } from './commands/plan.ts';
import type { prune } from './commands/prune.ts';
import type { simulate } from './commands/simulate.ts';
import type { sql } from './commands/sql.ts';
import type { status } from './commands/status.ts';
import type { sync } from './commands/sync.ts';
import type { verify } from './commands/verify.ts';
import type { watchAdd, watchList } from './commands/watch.ts';
import type { why } from './commands/why.ts';
import { EXIT } from './errors.ts';
import { collectSooner } from './heap.ts';
import { FAULT_NAMES } from './simulator/read-fault.ts';

collectSooner();

// A command is loaded when it is asked for: each brings packages that the others do without.
const program = new Command('toncenter-etl')
  .description(
    'Reads a TON Center API into Postgres: resumable, under its rate limit, and provably complete.',
  )
  .option('--version', 'versions of this program, its schema, Postgres and the API’s build')
  .showHelpAfterError('(--help shows what can be said)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.usage));

const list = (text: string) => text.split(',').filter((word) => word !== '');

function wholeNumber(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError('It must be a whole number above 0.');
  return Number(text);
}

/** Commander hands over the numbers read so far. */
function wholeNumbers(text: string, before: readonly number[] = []): number[] {
  return [...before, wholeNumber(text)];
}

/** The end of a command's `--help`. */
function examples(...lines: string[]): string {
  return ['', 'Examples:', ...lines.map((line) => `  ${line}`)].join('\n');
}

// A reader that has seen enough, such as head, closes the pipe: that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.done);
  throw error;
});

program
  .command('backfill')
  .description('cover a range of time once: exact, resumable, no request where it is covered already')
  .option('--from <time>', 'first second of the range, UTC')
  .option('--to <time>', 'end of the range, exclusive')
  .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
  .option('--max-requests <n>', 'stop after so many requests (exit 3, progress kept)', wholeNumber)
  .option('--deadline <duration>', 'stop after so long, e.g. 2h (exit 3, progress kept)')
  .option('--again', 'read a second time what has matured since its first reading')
  .option('--dry-run', 'print what would be read, and stop')
  .option('--record <dir>', 'keep every answer of the API there, for `simulate --corpus <dir>`')
  .option('--quiet', 'no progress: only what is missing and the last lines')
  .addHelpText(
    'after',
    `
Times: 2026-11-01, 2026-11, 2026-11-01T10:00Z, unix seconds, -6h, yesterday, now.
${examples(
  'toncenter-etl backfill --from 2026-11-01 --to 2026-11-02',
  'toncenter-etl backfill --from -6h --to now --only transactions',
  'toncenter-etl backfill --from 2026-01 --to -1h --deadline 2h    # every night: goes on where it stopped',
)}`,
  )
  .action((flags: Parameters<typeof backfill>[1]) =>
    runCommand(async (invocation) => (await import('./commands/backfill.ts')).backfill(invocation, flags)),
  );

program
  .command('plan')
  .description('what a backfill of a range will bring and cost: looks into it, prints ranges, reads nothing')
  .requiredOption('--from <time>', 'first second of the range, UTC')
  .requiredOption('--to <time>', 'end of the range, exclusive')
  .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
  .option('--json', 'for programs')
  .addHelpText(
    'after',
    examples(
      'toncenter-etl plan --from 2026-01 --to 2026-02',
      'toncenter-etl plan --from -7d --to now --only transactions --json',
    ),
  )
  .action((flags: Parameters<typeof plan>[1]) =>
    runCommand(async (invocation) => (await import('./commands/plan.ts')).plan(invocation, flags)),
  );

program
  .command('demo')
  .description(
    'crawl a simulated network into the embedded Postgres and show what landed: no key, no server, no internet',
  )
  .addHelpText('after', examples('toncenter-etl demo', 'npm run demo    # in a checkout'))
  .action(() => runCommand(async (invocation) => (await import('./commands/demo.ts')).demo(invocation)));

program
  .command('promote')
  .description(
    'copy the embedded database, rows and coverage, to a server of your own; goes on where it stopped',
  )
  .argument('<url>', 'postgres://user:password@host:5432/database, empty or begun by an earlier promote')
  .addHelpText('after', examples('toncenter-etl promote postgres://etl:…@db.internal/ton'))
  .action((url: string) =>
    runCommand(async (invocation) => (await import('./commands/promote.ts')).promote(invocation, url)),
  );

program
  .command('sync')
  .description('the daemon: keep the datasets complete, from ETL_SINCE to the head, until told to stop')
  .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
  .option('--record <dir>', 'keep every answer of the API there, for `simulate --corpus <dir>`')
  .addHelpText(
    'after',
    examples(
      'toncenter-etl sync',
      'ETL_SINCE=-7d toncenter-etl sync --only blocks,transactions',
      'TONCENTER_NETWORK=demo ETL_DATA_DIR=./demo toncenter-etl sync    # a simulated network, no key, no internet',
    ),
  )
  .action((flags: Parameters<typeof sync>[1]) =>
    runCommand(async (invocation) => (await import('./commands/sync.ts')).sync(invocation, flags)),
  );

program
  .command('status')
  .description('where every dataset stands, from the database alone')
  .option('--json', 'for programs')
  .option('--check', 'exit 3 where a dataset of ETL_DATASETS lags or lacks something, for monitoring')
  .option('--max-lag <duration>', 'how far behind the clock --check bears; default 5m')
  .addHelpText(
    'after',
    examples(
      'toncenter-etl status',
      'toncenter-etl status --check --max-lag 5m',
      "toncenter-etl status --json | jq '.datasets[].holes'",
    ),
  )
  .action((flags: Parameters<typeof status>[1]) =>
    runCommand(async (invocation) => (await import('./commands/status.ts')).status(invocation, flags)),
  );

program
  .command('verify')
  .description(
    'prove a range from what is stored: every check that its datasets have (exit 3 where it is not proved)',
  )
  .requiredOption('--from <time>', 'first second of the range, UTC')
  .requiredOption('--to <time>', 'end of the range, exclusive')
  .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
  .option('--deep <share>', 'also read such a share of the pages again and compare every value, e.g. 1%')
  .option('--repair', 'read again what is wanting, and verify again')
  .option('--record <dir>', 'keep every answer of the API there, for `simulate --corpus <dir>`')
  .option('--json', 'for programs')
  .addHelpText(
    'after',
    `
Times: 2026-11-01, 2026-11, 2026-11-01T10:00Z, unix seconds, -6h, yesterday, now.
${examples(
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02',
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02 --repair',
  'toncenter-etl verify --from 2026-11 --to 2026-12 --only transactions --deep 1% --json',
)}`,
  )
  .action((flags: Parameters<typeof verify>[1]) =>
    runCommand(async (invocation) => (await import('./commands/verify.ts')).verify(invocation, flags)),
  );

program
  .command('prune')
  .description('drop what ETL_RETENTION does not keep any more, as the daemon does every hour')
  .option('--dry-run', 'print what would be dropped, and stop')
  .addHelpText('after', examples('ETL_RETENTION=transactions:90d,traces:90d toncenter-etl prune --dry-run'))
  .action((flags: Parameters<typeof prune>[1]) =>
    runCommand(async (invocation) => (await import('./commands/prune.ts')).prune(invocation, flags)),
  );

program
  .command('migrate')
  .description('bring the database to this version’s schema; every other command does so at its start')
  .addHelpText('after', examples('DATABASE_URL=postgres://etl@db.internal/ton toncenter-etl migrate'))
  .action(() =>
    runCommand(async (invocation) => (await import('./commands/migrate.ts')).migrate(invocation)),
  );

program
  .command('why')
  .description(
    'what became of a transaction or message: stored, in quarantine, never read, or missing (exit 3)',
  )
  .argument('<hash>', 'in hex, base64 or base64url')
  .option('--at <time>', 'when it happened; else the API is asked, with one or two requests')
  // A hash in base64url may begin with a dash.
  .allowUnknownOption()
  .addHelpText(
    'after',
    examples('toncenter-etl why 0x5f3c…e1', 'toncenter-etl why XzwSb…4Q= --at 2026-11-01T10:00Z'),
  )
  .action((hash: string, flags: Parameters<typeof why>[2]) =>
    runCommand(async (invocation) => (await import('./commands/why.ts')).why(invocation, hash, flags)),
  );

const watch = program
  .command('watch')
  .description('the accounts and pools that are read by name')
  .addHelpText(
    'after',
    examples('toncenter-etl watch add EQC… --note "our validator’s pool"', 'toncenter-etl watch list'),
  );

watch
  .command('add')
  .description('in any form: raw, base64 or base64url')
  .argument('<address>')
  .option('--note <text>', 'why, for whoever reads the list')
  // A raw address in the masterchain begins with a dash.
  .allowUnknownOption()
  .action((address: string, flags: Parameters<typeof watchAdd>[2]) =>
    runCommand(async (invocation) =>
      (await import('./commands/watch.ts')).watchAdd(invocation, address, flags),
    ),
  );

watch
  .command('remove')
  .description('what was read for it stays')
  .argument('<address>')
  .allowUnknownOption()
  .action((address: string) =>
    runCommand(async (invocation) => (await import('./commands/watch.ts')).watchRemove(invocation, address)),
  );

watch
  .command('list')
  .option('--json', 'for programs')
  .action((flags: Parameters<typeof watchList>[1]) =>
    runCommand(async (invocation) => (await import('./commands/watch.ts')).watchList(invocation, flags)),
  );

program
  .command('datasets')
  .description('what can be crawled; with a name: what it stores, column by column, and what it costs')
  .argument('[name]', 'a dataset')
  .option('--json', 'for programs')
  .addHelpText('after', examples('toncenter-etl datasets', 'toncenter-etl datasets transactions'))
  .action((name: string | undefined, flags: Parameters<typeof datasets>[2]) =>
    runCommand(async (invocation) =>
      (await import('./commands/datasets.ts')).datasets(invocation, name, flags),
    ),
  );

program
  .command('doctor')
  .description(
    'compare schema, settings, clock, disk and API with what they should be; each finding with its remedy (exit 1)',
  )
  .option('--bundle <file>', 'also write one redacted file for a bug report')
  .option('--json', 'for programs')
  .addHelpText('after', examples('toncenter-etl doctor', 'toncenter-etl doctor --bundle ./bundle.json'))
  .action((flags: Parameters<typeof doctor>[1]) =>
    runCommand(async (invocation) => (await import('./commands/doctor.ts')).doctor(invocation, flags)),
  );

const quarantine = program
  .command('quarantine')
  .description('records of the API that did not fit their schema: kept whole, a known gap')
  .addHelpText(
    'after',
    examples(
      'toncenter-etl quarantine list',
      'toncenter-etl quarantine retry            # after an upgrade: without a request',
      'toncenter-etl quarantine retry --again    # asks the API for their seconds anew',
      'toncenter-etl quarantine export > quarantine.jsonl',
    ),
  );

quarantine
  .command('list', { isDefault: true })
  .description('why, and which')
  .option('--only <datasets>', 'of these datasets, with commas between', list)
  .option('--json', 'for programs')
  .action((flags: Parameters<typeof quarantineList>[1]) =>
    runCommand(async (invocation) =>
      (await import('./commands/quarantine.ts')).quarantineList(invocation, flags),
    ),
  );

quarantine
  .command('show')
  .description('one record, whole, with the request that brought it')
  .argument('<id>', 'its number in the list', wholeNumber)
  .action((id: number) =>
    runCommand(async (invocation) =>
      (await import('./commands/quarantine.ts')).quarantineShow(invocation, id),
    ),
  );

quarantine
  .command('retry')
  .description('read them again with this version (exit 3 where some still do not fit)')
  .argument('[ids...]', 'their numbers in the list; default all', wholeNumbers)
  .option('--only <datasets>', 'of these datasets, with commas between', list)
  .option('--again', 'ask the API anew for the seconds of those that still do not fit')
  .action((ids: readonly number[], flags: Parameters<typeof quarantineRetry>[2]) =>
    runCommand(async (invocation) =>
      (await import('./commands/quarantine.ts')).quarantineRetry(invocation, ids, flags),
    ),
  );

quarantine
  .command('export')
  .description('a JSON line a record, to stdout')
  .option('--only <datasets>', 'of these datasets, with commas between', list)
  .action((flags: Parameters<typeof quarantineList>[1]) =>
    runCommand(async (invocation) =>
      (await import('./commands/quarantine.ts')).quarantineExport(invocation, flags),
    ),
  );

program
  .command('sql')
  .description('run SQL: one statement, several from a pipe, or a prompt; read-only unless --write')
  .argument('[statement]', 'else stdin is read, or on a terminal a prompt shown')
  .option('--write', 'allow statements that change something')
  .option(
    '--url',
    'print the connection string, with its password, for psql and other programs; runs nothing',
  )
  .option('--csv', 'comma-separated values with a header')
  .option('--json', 'an array of objects, values as strings')
  .addHelpText(
    'after',
    examples(
      'toncenter-etl sql "select * from transactions order by utime desc limit 5"',
      'toncenter-etl sql --csv < report.sql > report.csv',
      'toncenter-etl sql    # a prompt; \\q ends',
      'psql "$(toncenter-etl sql --url)"    # while sync runs',
    ),
  )
  .action((statement: string | undefined, flags: Parameters<typeof sql>[2]) =>
    runCommand(async (invocation) => (await import('./commands/sql.ts')).sql(invocation, statement, flags)),
  );

program
  .command('export')
  .description(
    'write tables to files, one a partition, with a manifest; a re-run writes only what has changed',
  )
  .requiredOption('--from <time>', 'first second of the range, UTC')
  .requiredOption('--to <time>', 'end of the range, exclusive')
  .requiredOption('--out <dir>', 'directory of the files; made where absent')
  .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, with commas between', list)
  .option('--format <parquet|csv>', 'default parquet', 'parquet')
  .addHelpText(
    'after',
    examples(
      'toncenter-etl export --from 2026-11 --to 2026-12 --out ./november',
      'toncenter-etl export --only transactions --from -7d --to now --format csv --out ./week',
    ),
  )
  .action((flags: Parameters<typeof exportRows>[1]) =>
    runCommand(async (invocation) => (await import('./commands/export.ts')).exportRows(invocation, flags)),
  );

program
  .command('reader')
  .description('make a role that reads the data and does no more, and print its connection string')
  .option('--name <role>', 'the role', 'toncenter_reader')
  .option('--timeout <duration>', 'after which its statements are ended', '60s')
  .addHelpText(
    'after',
    examples(
      'psql "$(toncenter-etl reader)"',
      'toncenter-etl reader --name metabase --timeout 5m    # run again: a new password',
    ),
  )
  .action((flags: Parameters<typeof reader>[1]) =>
    runCommand(async (invocation) => (await import('./commands/reader.ts')).reader(invocation, flags)),
  );

program
  .command('simulate')
  .description(
    'serve a simulated TON Center on this machine until Ctrl-C: for trying things out, and for tests',
  )
  .option('--port <n>', 'default: any free one')
  .option('--seed <n>', 'equal seeds give equal networks; default 1')
  .option('--from <time>', 'first second of the network; default 2026-01-01')
  .option('--hours <n>', 'how long it lasts, or with --live how much history it begins with; default 1')
  .option('--tx-per-second <n>', 'transactions a second; default 10')
  .option('--live', 'its head moves with the clock')
  .option('--build <1.2|1.3>', 'which of the real servers is imitated; default 1.3')
  .option('--rate-limit <kind:rps>', 'fixed-window, sliding-window or token-bucket; default none')
  .option('--key <key>', 'the only API key that is known; requests without a key pass')
  .option('--latency <min-max>', 'delay of an answer, milliseconds')
  .option(
    '--corpus <dir>',
    'serve the recorded traces and responses of this directory, or what --record wrote',
  )
  .option('--fault <name=value...>', 'something that goes wrong; may be given several times')
  .addHelpText(
    'after',
    `
Faults: ${FAULT_NAMES.join(', ')}.
Most take a probability from 0 to 1: --fault badGateway=0.05.
${examples(
  'toncenter-etl simulate --live --port 8090',
  'toncenter-etl simulate --hours 24 --rate-limit sliding-window:10 --latency 20-100',
  'toncenter-etl simulate --fault truncatedJson=0.1 --fault storm=0.01x20',
)}`,
  )
  .action((flags: Parameters<typeof simulate>[1]) =>
    runCommand(async (invocation) => (await import('./commands/simulate.ts')).simulate(invocation, flags)),
  );

// Commander would want a command beside it.
if (process.argv[2] === '--version')
  await runCommand(async (invocation) => (await import('./commands/version.ts')).printVersion(invocation));
else await program.parseAsync();
