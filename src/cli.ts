#!/usr/bin/env node
import { Command } from 'commander';
import { join } from 'node:path';
import { SETTING_NAMES } from './settings/config.ts';
import { packageRoot } from './package.ts';
import { runCommand } from './commands/command.ts';
import { registerBackfill } from './commands/register/backfill.ts';
import { registerPlan } from './commands/register/plan.ts';
import { registerDemo } from './commands/register/demo.ts';
import { registerPromote } from './commands/register/promote.ts';
import { registerSync } from './commands/register/sync.ts';
import { registerStatus } from './commands/register/status.ts';
import { registerVerify } from './commands/register/verify.ts';
import { registerPrune } from './commands/register/prune.ts';
import { registerMigrate } from './commands/register/migrate.ts';
import { registerWhy } from './commands/register/why.ts';
import { registerWatch } from './commands/register/watch.ts';
import { registerDatasets } from './commands/register/datasets.ts';
import { registerDoctor } from './commands/register/doctor.ts';
import { registerQuarantine } from './commands/register/quarantine.ts';
import { registerSql } from './commands/register/sql.ts';
import { registerExport } from './commands/register/export.ts';
import { registerImport } from './commands/register/import.ts';
import { registerReader } from './commands/register/reader.ts';
import { registerCompletion } from './commands/register/completion.ts';
import { registerSimulate } from './commands/register/simulate.ts';
import { EXIT } from './errors.ts';
import { watchStdout } from './terminal/stdout.ts';
import { protectTerminal, wrap } from './terminal/terminal.ts';

watchStdout();
protectTerminal();

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

// A command is loaded when it is asked for: each brings packages that the others do without.
const program = new Command('toncenter-etl')
  .description(
    'Reads a TON Center API into Postgres: resumable, under its rate limit, and provably complete.',
  )
  .option('--version', 'versions of this program, its schema, Postgres and the API’s build')
  .addHelpText('after', ABOUT)
  .showHelpAfterError('(--help shows what can be said)')
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.usage));

/** In the order of `--help`. */
const COMMANDS = [
  registerBackfill,
  registerPlan,
  registerDemo,
  registerPromote,
  registerSync,
  registerStatus,
  registerVerify,
  registerPrune,
  registerMigrate,
  registerWhy,
  registerWatch,
  registerDatasets,
  registerDoctor,
  registerQuarantine,
  registerSql,
  registerExport,
  registerImport,
  registerReader,
  registerSimulate,
  registerCompletion,
];
for (const register of COMMANDS) register(program);

// Commander would want a command beside it.
if (process.argv[2] === '--version')
  await runCommand(async (invocation) => (await import('./commands/version.ts')).printVersion(invocation));
else await program.parseAsync();
