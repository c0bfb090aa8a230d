import { loadTables } from '../../db/load-tables.ts';
import { describeTable } from '../../db/read/table-description.ts';
import type { TextResult } from '../../db/connection/as-text.ts';
import { literal } from '../../db/migrate/literal.ts';
import { DatabaseError, messageOf, UsageError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import { absent } from '../lake.ts';
import { failAt } from '../store/s3-store.ts';
import { bucketSql } from './bucket-sql.ts';
import { lakeSql } from './lake-sql.ts';

/** The statements of docs/analyst/lake.sql, for this version's tables. */
export async function lakeSqlOfTables(): Promise<string> {
  const tables = (await loadTables()).map(describeTable).filter(({ schema }) => schema === 'ton');
  return lakeSql(tables);
}

/**
 * Makes an engine a reader of the lake at a place, a directory or a bucket: what it is asked then finds the tables, views and functions that a
 * database has, with the parts that the lake has now.
 */
export async function openLakeReader(
  engine: Engine,
  place: string,
): Promise<(statement: string) => Promise<TextResult>> {
  if (place.startsWith('s3:')) {
    const bucket = await bucketSql().catch((cause: unknown) => failAt(place, cause));
    await engine.ask(bucket).catch(refuseBucket);
  }
  // As addresses of files are put together from it, without a slash at its end.
  const lake = literal(place.replace(/(?<=.)\/+$/, ''));
  await engine.ask(`set variable lake = ${lake};\n${await lakeSqlOfTables()}`).catch((cause: unknown) => {
    const message = messageOf(cause);
    if (message.includes('No files found')) absent(place);
    throw new UsageError(message, { cause });
  });
  return (statement) => engine.ask(statement).catch(refuseStatement);
}

function refuseBucket(cause: unknown): never {
  throw new UsageError('DuckDB has no extension `httpfs` here, by which it reads buckets', {
    cause,
    hint: 'It fetches that from extensions.duckdb.org, once. Where this cannot be reached, copy the lake into a directory.',
  });
}

/** As Postgres' refusals are: a script need not know which of the two it asks. */
function refuseStatement(cause: unknown): never {
  throw new DatabaseError(messageOf(cause), { cause });
}
