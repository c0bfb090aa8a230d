import { realpath } from 'node:fs/promises';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import type { TextResult } from '../../db/connection/as-text.ts';
import { literal } from '../../db/migrate/literal.ts';
import { DatabaseError, EtlError, messageOf, UsageError } from '../../errors.ts';
import { tablesOf } from '../../export/tables-of.ts';
import type { Engine } from '../engine.ts';
import { absent } from '../lake.ts';
import { failAt } from '../store/s3-store.ts';
import { bucketSql } from './bucket-sql.ts';
import { lakeSql } from './lake-sql.ts';

/** The statements of docs/analyst/lake.sql, for this version's tables. */
export async function lakeSqlOfTables(): Promise<string> {
  const available = await loadDatasets();
  return lakeSql(tablesOf(available, available));
}

/**
 * Makes an engine a reader of the lake at a place, a directory or a bucket: what it is asked then finds the tables, views
 * and functions that a database has, with the parts that the lake has now. It opens nothing but the files of these.
 */
export async function openLakeReader(
  engine: Engine,
  place: string,
): Promise<(statement: string, signal?: AbortSignal) => Promise<TextResult>> {
  const isBucket = place.startsWith('s3:');
  if (isBucket) {
    const bucket = await bucketSql(place).catch((cause: unknown) => failAt(place, cause));
    await engine.ask(bucket).catch(refuseBucket);
  }
  // DuckDB compares names of files without symbolic links.
  const real = isBucket ? place : await realpath(place).catch(() => absent(place));
  // As addresses of files are put together from it, without a slash at its end.
  const lake = literal(real.replace(/(?<=.)\/+$/, ''));
  await engine.ask(`set variable lake = ${lake};\n${await lakeSqlOfTables()}`).catch((cause: unknown) => {
    const message = messageOf(cause);
    if (message.includes('No files found')) absent(place);
    throw new UsageError(message, { cause });
  });
  const { rows } = await engine.ask(
    `select getvariable('lake') || '/' || "table" || '/' || path from etl.parts where not regexp_matches(path, '(^|[/\\\\])\\.\\.([/\\\\]|$)')`,
  );
  await engine.confine(rows.flatMap(([path]) => path ?? []));
  return (statement, signal) => engine.read(statement, signal).catch(refuseStatement);
}

function refuseBucket(cause: unknown): never {
  throw new UsageError('DuckDB has no extension `httpfs` here, by which it reads buckets', {
    cause,
    hint: 'It fetches that from extensions.duckdb.org, once. Where this cannot be reached, copy the lake into a directory.',
  });
}

/** As Postgres' refusals are: a script need not know which of the two it asks. */
function refuseStatement(cause: unknown): never {
  if (cause instanceof EtlError) throw cause;
  const message = messageOf(cause).replace(/^Invalid Input Error: (?=the lake has no part of )/, '');
  const isGone = /No such file|No files found|404/.test(message);
  const hint = 'Parts of the lake have changed places since this session began: begin another one.';
  throw new DatabaseError(message, { cause, ...(isGone ? { hint } : {}) });
}
