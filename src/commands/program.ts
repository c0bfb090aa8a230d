import { Command } from 'commander';
import { join } from 'node:path';
import { SETTING_NAMES } from '../settings/config.ts';
import { packageRoot } from '../package.ts';
import { runCommand } from './command.ts';
import { registerBackfill } from './register/backfill.ts';
import { registerPlan } from './register/plan.ts';
import { registerDemo } from './register/demo.ts';
import { registerPromote } from './register/promote.ts';
import { registerSync } from './register/sync.ts';
import { registerStatus } from './register/status.ts';
import { registerVerify } from './register/verify.ts';
import { registerPrune } from './register/prune.ts';
import { registerMigrate } from './register/migrate.ts';
import { registerWhy } from './register/why.ts';
import { registerWatch } from './register/watch.ts';
import { registerDatasets } from './register/datasets.ts';
import { registerDoctor } from './register/doctor.ts';
import { registerQuarantine } from './register/quarantine.ts';
import { registerSql } from './register/sql.ts';
import { registerExport } from './register/export.ts';
import { registerImport } from './register/import.ts';
import { registerReader } from './register/reader.ts';
import { registerCompletion } from './register/completion.ts';
import { registerSimulate } from './register/simulate.ts';
import { EXIT } from '../errors.ts';
import { nearestName } from '../nearest.ts';
import { watchStdout } from '../terminal/stdout.ts';
import { protectTerminal, wrap } from '../terminal/terminal.ts';

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

/** Commander prints the main help for an unknown command if `--help` is beside it, and takes that for success. */
function requireKnown(program: Command): void {
  const words = process.argv.slice(2).filter((word) => !word.startsWith('-'));
  const word = words[0] === 'help' ? words[1] : words[0];
  const names = program.commands.flatMap((command) => [command.name(), ...command.aliases()]);
  if (word === undefined || word === 'help' || word === 'complete' || names.includes(word)) return;
  const nearest = nearestName(word, names);
  program.error(
    `error: unknown command '${word}'${nearest === undefined ? '' : `\n(Did you mean ${nearest}?)`}`,
  );
}

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

/**
 * Runs the command that the process' arguments name. It is loaded when it is asked for: each brings packages that the
 * others do without.
 */
export async function runProgram(): Promise<void> {
  watchStdout();
  protectTerminal();
  const program = new Command('toncenter-etl')
    .description(
      'Reads a TON Center API into Postgres: resumable, under its rate limit, and provably complete.',
    )
    .option('--version', 'versions of this program, its schema, Postgres and the API’s build')
    .addHelpText('after', ABOUT)
    .showHelpAfterError('(run it with --help for usage)')
    .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.done : EXIT.usage));
  for (const register of COMMANDS) register(program);
  // Commander would want a command beside it.
  if (process.argv[2] === '--version')
    await runCommand(async (invocation) => (await import('./version.ts')).printVersion(invocation));
  else {
    requireKnown(program);
    await program.parseAsync();
  }
}
