import { loadTables } from '../../db/load-tables.ts';
import { describeTable } from '../../db/read/table-description.ts';
import type { TextResult } from '../../db/connection/as-text.ts';
import { literal } from '../../db/migrate/literal.ts';
import { toError, UsageError } from '../../errors.ts';
import type { Engine } from '../engine.ts';
import { lakeSql } from './lake-sql.ts';

/** The statements of docs/analyst/lake.sql, for this version's tables. */
export async function lakeSqlOfTables(): Promise<string> {
  const tables = (await loadTables()).map(describeTable).filter(({ schema }) => schema === 'ton');
  return lakeSql(tables);
}

/**
 * Makes an engine a reader of the lake of a directory: what it is asked then finds the tables, views and functions that a
 * database has, with the parts that the lake has now.
 */
export async function openLakeReader(
  engine: Engine,
  directory: string,
): Promise<(statement: string) => Promise<TextResult>> {
  await engine.ask(`set variable lake = ${literal(directory)};\n${await lakeSqlOfTables()}`).catch(refuse);
  return (statement) => engine.ask(statement).catch(refuse);
}

function refuse(cause: unknown): never {
  const { message } = toError(cause);
  const isEmpty = message.includes('No files found');
  throw new UsageError(isEmpty ? 'there is no lake at this place' : message, { cause });
}
