import { join } from 'node:path';
import { Command } from 'commander';
import { EXIT } from '../errors.ts';
import { nearestName } from '../nearest.ts';
import { packageRoot } from '../package.ts';
import { SETTING_NAMES } from '../settings/config.ts';
import { watchStdout, protectTerminal, wrap } from '../terminal/terminal.ts';

const ABOUT = `
Settings, from the environment and from .env in the working directory:
  DATABASE_URL        your Postgres (also PGHOST, PGUSER, …, ~/.pgpass); without
                      it an embedded one in ~/.toncenter-etl
  TONCENTER_API_KEY   from toncenter.com; without one, 1 request a second
  TONCENTER_NETWORK   mainnet (default), testnet, demo, or the URL of a host
  ETL_DATASETS        what is read: names, core (default) or all
  LOG_LEVEL           trace, debug, info (default), warn, error or silent
${wrap(`  and ${SETTING_NAMES.filter((name) => !/^(DATABASE_URL|TONCENTER_(API_KEY|NETWORK)|ETL_DATASETS|LOG_LEVEL)$/.test(name)).join(', ')}`, 80, '  ')}
  README.md explains them all.

Exit codes:
  0   done
  1   failed
  2   a person must change something: the command line, a setting, a key
  3   incomplete: what was read is kept, and the same command continues
  75  the API or the database does not answer: try again later

Docs: ${join(packageRoot, 'README.md')}
  and docs/ beside it: analyst.md, operator.md, library.md`;

/**
 * The commands by name, in the order of `--help`: what it shows after the name, and says about it. The file of a command,
 * which defines its options and runs it, is loaded only if the command is named.
 */
const COMMANDS = {
  backfill: {
    usage: '[options]',
    about: 'cover a range of time once: exact, resumable, reads only what is missing',
    load: async () => (await import('./backfill-command.ts')).defineBackfill,
  },
  plan: {
    usage: '[options]',
    about:
      'estimate what a backfill will store and cost: sends some requests, stores no rows, prints each number as a range',
    load: async () => (await import('./plan-command.ts')).definePlan,
  },
  demo: {
    usage: '',
    about:
      'crawl a simulated network into the embedded Postgres and show what landed: no key, no server, no internet',
    load: async () => (await import('./demo-command.ts')).defineDemo,
  },
  promote: {
    usage: '<url>',
    about:
      'copy the embedded database, rows and coverage, to a server of your own; continues where it stopped',
    load: async () => (await import('./promote-command.ts')).definePromote,
  },
  sync: {
    usage: '[options]',
    about: 'the daemon: keep the datasets complete, from ETL_SINCE to the head, until stopped',
    load: async () => (await import('./sync-command.ts')).defineSync,
  },
  status: {
    usage: '[options]',
    about: 'the state of every dataset, from the database alone',
    load: async () => (await import('./status-command.ts')).defineStatus,
  },
  verify: {
    usage: '[options]',
    about:
      'prove a range from what is stored: every check that its datasets have (exit 3 if it is not proved)',
    load: async () => (await import('./verify-command.ts')).defineVerify,
  },
  prune: {
    usage: '[options]',
    about: 'drop what ETL_RETENTION no longer keeps, as the daemon does every hour',
    load: async () => (await import('./prune-command.ts')).definePrune,
  },
  migrate: {
    usage: '',
    about:
      'bring the database to this version’s schema, as sync, backfill, import and promote do at their start',
    load: async () => (await import('./migrate-command.ts')).defineMigrate,
  },
  why: {
    usage: '[options] <hash>',
    about:
      'what happened to a transaction or message: stored, in quarantine, never read, or missing (exit 3)',
    load: async () => (await import('./why-command.ts')).defineWhy,
  },
  watch: {
    usage: '',
    about: 'the accounts and pools that are read by name',
    load: async () => (await import('./watch-command.ts')).defineWatch,
  },
  labels: {
    usage: '',
    about: 'names for accounts, from CSV files; views show them',
    load: async () => (await import('./labels-command.ts')).defineLabels,
  },
  datasets: {
    usage: '[options] [name]',
    about: 'what can be crawled; with a name: what it stores, column by column, and what it costs',
    load: async () => (await import('./datasets-command.ts')).defineDatasets,
  },
  doctor: {
    usage: '[options]',
    about: 'check schema, settings, clock, disk and API; prints a remedy for each finding (exit 1)',
    load: async () => (await import('./doctor-command.ts')).defineDoctor,
  },
  quarantine: {
    usage: '',
    about: 'records of the API that did not fit their schema: kept whole, and missing from the data',
    load: async () => (await import('./quarantine-command.ts')).defineQuarantine,
  },
  sql: {
    usage: '[options] [statement]',
    about: 'run SQL: one statement, several from a pipe, or a prompt; read-only unless --write',
    load: async () => (await import('./sql-command.ts')).defineSql,
  },
  export: {
    usage: '[options]',
    about:
      'write what is covered to a lake of Parquet files, or to CSV files; a second run adds to the lake what is new',
    load: async () => (await import('./export-command.ts')).defineExport,
  },
  import: {
    usage: '[options]',
    about: 'import from a lake what the database does not cover; run `verify` afterwards',
    load: async () => (await import('./import-command.ts')).defineImport,
  },
  reader: {
    usage: '[options]',
    about: 'create a role that can only read the data, and print its connection string',
    load: async () => (await import('./reader-command.ts')).defineReader,
  },
  simulate: {
    usage: '[options]',
    about: 'serve a simulated TON Center on this machine until Ctrl-C: for trying things out, and for tests',
    load: async () => (await import('./simulate-command.ts')).defineSimulate,
  },
} satisfies Record<string, { usage: string; about: string; load: () => Promise<(command: Command) => void> }>;

/** Runs the command that the process' arguments name. */
export async function runProgram(): Promise<void> {
  watchStdout();
  protectTerminal();
  const words = process.argv.slice(2).filter((word) => !word.startsWith('-'));
  const program = await createProgram(words);
  // Commander would require a command, too.
  if (process.argv[2] === '--version') {
    const [{ runCommand }, { printVersion }] = await Promise.all([
      import('./run-command.ts'),
      import('./print-version.ts'),
    ]);
    await runCommand(printVersion);
  } else {
    requireKnown(program, words);
    await program.parseAsync();
  }
}

/** Creates all commands. Those that `words` name get their options. */
export async function createProgram(words: readonly string[]): Promise<Command> {
  const program = new Command('toncenter-etl')
    .description(
      'Reads a TON Center API into Postgres: resumable, under its rate limit, and provably complete.',
    )
    .option('--version', 'versions of this program, its schema, Postgres and the API’s build')
    .addHelpText('after', ABOUT)
    .showHelpAfterError('(run it with --help for usage)')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.usage));
  const named = new Set(words.slice(0, words[0] === 'help' ? 2 : 1));
  for (const [name, { usage, about, load }] of Object.entries(COMMANDS)) {
    // The others are only listed in `--help`. Commander would read "[options]" as an argument.
    const command = program.command(named.has(name) ? name : `${name} ${usage}`.trim()).description(about);
    if (named.has(name)) (await load())(command);
  }
  return program;
}

/**
 * If `--help` follows an unknown command, commander prints the main help and exits with 0. So unknown commands are
 * refused here.
 */
function requireKnown(program: Command, words: readonly string[]): void {
  const word = words[0] === 'help' ? words[1] : words[0];
  if (word === undefined || word === 'help' || Object.hasOwn(COMMANDS, word)) return;
  const nearest = nearestName(word, Object.keys(COMMANDS));
  program.error(
    `error: unknown command '${word}'${nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`}`,
  );
}
