#!/usr/bin/env node
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import { V8_FLAGS } from './config.ts';
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
import { registerReader } from './commands/register/reader.ts';
import { registerSimulate } from './commands/register/simulate.ts';
import { EXIT } from './errors.ts';
import { watchStdout } from './stdout.ts';
import { protectTerminal } from './terminal.ts';

setFlagsFromString(V8_FLAGS);
watchStdout();
protectTerminal();

// A command is loaded when it is asked for: each brings packages that the others do without.
const program = new Command('toncenter-etl')
  .description(
    'Reads a TON Center API into Postgres: resumable, under its rate limit, and provably complete.',
  )
  .option('--version', 'versions of this program, its schema, Postgres and the API’s build')
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
  registerReader,
  registerSimulate,
];
for (const register of COMMANDS) register(program);

// Commander would want a command beside it.
if (process.argv[2] === '--version')
  await runCommand(async (invocation) => (await import('./commands/version.ts')).printVersion(invocation));
else await program.parseAsync();
