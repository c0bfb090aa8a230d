import type { Command } from 'commander';
import { type Database, openDatabase } from '../postgres/database.ts';
import { migrate } from '../migrate/migrate.ts';
import { promoteTables } from '../migrate/promote.ts';
import { DatabaseAccessError, DatabaseUnavailableError, EXIT, type ExitCode, UsageError } from '../errors.ts';
import type { Config } from '../settings/config.ts';
import { examples } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withStop, withStore } from './run-command.ts';
import { formatTable } from './table.ts';

export function definePromote(command: Command): void {
  command
    .argument('<url>', 'postgres://user:password@host:5432/database, empty or begun by an earlier promote')
    .addHelpText('after', examples('toncenter-etl promote postgres://etl:…@db.internal/ton'))
    .action((url: string) => runCommand((invocation) => promote(invocation, url)));
}

/** The connection's name in pg_stat_activity. */
const NAME = 'toncenter-etl promote';

/** `promote postgres://…`: copies the embedded database to a server, without a request to the API. */
async function promote(invocation: Invocation, url: string): Promise<ExitCode> {
  const target = targetOf(invocation.config, url);
  return withStop(invocation.logger, (stop) =>
    withStore({ ...invocation, migrates: true, signal: stop.finishing }, NAME, async (store) =>
      closeAfter(await openTarget(target), async (to) => {
        if (to.label === store.database.label) throw new UsageError('the URL is that of the source database');
        await migrate(to);
        const counts = new Map<string, number>();
        const isWhole = await promoteTables({
          from: store.database,
          to,
          signal: stop.finishing,
          partition: invocation.config.partition,
          onRows: (table, rows) => counts.set(table, (counts.get(table) ?? 0) + rows),
        });
        const rows = [...counts].map(([table, count]) => [table, String(count)]);
        if (rows.length > 0) console.log(formatTable(['table', 'rows copied'], rows));
        console.log(
          isWhole
            ? `promoted  ${store.database.label} to ${to.label}: set DATABASE_URL to use it`
            : 'stopped   what was copied is kept; the same command continues from there',
        );
        return isWhole ? EXIT.done : EXIT.incomplete;
      }),
    ),
  );
}

/** Errors concern the argument, not the setting: the hint is adapted. */
function openTarget(url: string): Promise<Database> {
  return openDatabase({ url, applicationName: NAME }).catch((error: unknown) => {
    if (!(error instanceof DatabaseUnavailableError || error instanceof DatabaseAccessError)) throw error;
    const Failure = error instanceof DatabaseAccessError ? DatabaseAccessError : DatabaseUnavailableError;
    const hint = (error.hint ?? '').replace('DATABASE_URL', 'the URL after `promote`');
    throw new Failure(error.message, { cause: error, ...(hint !== '' && { hint }) });
  });
}

/** Completes the URL with libpq's variables, such as the password. */
function targetOf(config: Config, url: string): string {
  try {
    return config.completeUrl(url);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`the URL to promote to ${error.message}`);
  }
}
