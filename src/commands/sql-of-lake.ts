import { resolve } from 'node:path';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { openLakeReader } from '../lake/sql/open-lake-reader.ts';
import { NAMES_OF_LAKE } from './output/sql/backslash.ts';
import { converse } from './output/sql/converse.ts';
import { openRunner } from './output/sql/run-typed.ts';
import { showResult } from './output/sql/show-result.ts';
import { parseSql, type SqlFlags } from './parse/sql-flags.ts';
import { withLake } from '../lake/open-lake.ts';

/** `sql --lake LAKE [STATEMENT]`: asks a lake by DuckDB, with the tables, views and functions that a database has. */
export async function sqlOfLake(
  place: string,
  given: string | undefined,
  flags: SqlFlags,
): Promise<ExitCode> {
  const wanted = await parseSql(given, flags);
  if (wanted.kind === 'url' || flags.write === true)
    throw new UsageError('--lake reads a lake: it goes with neither --url nor --write');
  return withLake(place, async ({ engine, store }) => {
    const ask = await openLakeReader(engine, place.startsWith('s3:') ? place : resolve(place));
    const run = openRunner(async (statement, shape, signal) => {
      showResult(await ask(statement, signal), wanted.format, shape);
    });
    const names = async () => (await ask(NAMES_OF_LAKE)).rows.flatMap(([name]) => name ?? []);
    if (wanted.kind === 'conversation') await converse(store.label, run, names);
    else for (const statement of wanted.statements) await run(statement);
    return EXIT.done;
  });
}
