import type { DuckDBConnection, DuckDBResultReader } from '@duckdb/node-api';
import { literal } from '../../db/migrate/literal.ts';
import { DatabaseError } from '../../errors.ts';

/*
 * A session of DuckDB that runs statements of a user's own. DuckDB keeps it to some files, and this program to statements
 * that read: of the files that it may open, DuckDB would also let it write each.
 */

/** Lets a session open no file but these, and nothing of the network. Only a new session is free again. */
export async function confine(duck: DuckDBConnection, paths: readonly string[]): Promise<void> {
  await duck.run(`set allowed_paths = [${paths.map(literal).join(', ')}]`);
  await duck.run('set enable_external_access = false');
  await duck.run('set lock_configuration = true');
}

/** Runs a statement, or what DuckDB makes of one; the rows of the last. */
export async function runReading(
  duck: DuckDBConnection,
  statement: string,
): Promise<DuckDBResultReader | undefined> {
  const { StatementType } = await import('@duckdb/node-api');
  const found = await duck.extractStatements(statement);
  let rows: DuckDBResultReader | undefined;
  for (let at = 0; at < found.count; at += 1) {
    const prepared = await found.prepare(at);
    const type = prepared.statementType;
    const isReading =
      type === StatementType.SELECT ||
      // Tables, views and macros of the session; a secret would send what is read elsewhere.
      (type === StatementType.CREATE && !/secret/i.test(statement)) ||
      (type === StatementType.EXPLAIN && found.count === 1 && (await explainsReading(duck, statement)));
    // It writes files, and DuckDB ends the process at one that it may not write.
    if (!isReading || /enable_logging/i.test(statement)) refuse(StatementType[type]);
    rows = await prepared.runAndReadAll();
  }
  return rows;
}

/** `explain analyze` runs what follows. */
async function explainsReading(duck: DuckDBConnection, statement: string): Promise<boolean> {
  const { StatementType } = await import('@duckdb/node-api');
  const explained = statement.replace(/^\s*explain\s+(analyze\s+)?(\([^)]*\)\s*)?/i, '');
  const found = await duck.extractStatements(explained);
  return found.count === 1 && (await found.prepare(0)).statementType === StatementType.SELECT;
}

function refuse(type: string | undefined): never {
  throw new DatabaseError(
    `\`sql --lake\` only reads: it runs no ${type?.toLowerCase() ?? 'such'} statement`,
    {
      hint: 'It runs select, explain, describe and show, and makes tables, views and macros for the session itself.',
    },
  );
}
