import { sql } from 'drizzle-orm';
import pg from 'pg';
import * as z from 'zod';
import { DatabaseError } from '../../errors.ts';
import type { Database } from '../connection/database.ts';
import { SQLSTATE } from '../../sqlstate.ts';
import { nearestName } from '../../nearest.ts';

const NAMED = /(?:relation|column|function) "?([^"( ]+)/;

const Name = z.object({ name: z.string() });

/** The same error with the place in the statement that Postgres stumbled over, its detail, and what to do about it. */
export async function explainRefusal(
  database: Database,
  statement: string,
  error: DatabaseError,
): Promise<DatabaseError> {
  const { cause } = error;
  if (!(cause instanceof pg.DatabaseError)) return error;
  const lines = [error.message, ...placeLines(statement, Number(cause.position)), cause.detail];
  const near = await nearest(database, statement, cause);
  // Of a column Postgres itself names the nearest; of a function it only says that there is none.
  const [first, second] = cause.code === SQLSTATE.undefinedFunction ? [near, cause.hint] : [cause.hint, near];
  const hint = first ?? second ?? error.hint;
  return new DatabaseError(lines.filter((line) => line !== undefined).join('\n'), {
    cause,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** `position` counts characters from 1; NaN where Postgres names none. */
function placeLines(statement: string, position: number): string[] {
  if (!(position >= 1)) return [];
  const before = Array.from(statement)
    .slice(0, position - 1)
    .join('');
  const number = before.split('\n').length;
  const line = statement.split('\n')[number - 1] ?? '';
  const head = `LINE ${number}: `;
  const column = before.length - (before.lastIndexOf('\n') + 1);
  // A tab moves the caret as it moves the line.
  const indent = line.slice(0, column).replaceAll(/[^\t]/g, ' ');
  return [`${head}${line}`, `${' '.repeat(head.length)}${indent}^`];
}

async function nearest(
  database: Database,
  statement: string,
  { code, message }: pg.DatabaseError,
): Promise<string | undefined> {
  const typed = NAMED.exec(message)?.[1];
  const query = namesLike(code, statement);
  if (typed === undefined || query === undefined) return undefined;
  const named = typed.replace(/^.*\./, '');
  const names = (await database.rows(query, Name)).map(({ name }) => name);
  // There is such a function, and not for these arguments.
  if (code === SQLSTATE.undefinedFunction && names.includes(named)) return undefined;
  const near = nearestName(
    named,
    names.filter((name) => name !== typed && (name !== named || code === SQLSTATE.undefinedTable)),
  );
  return near === undefined ? undefined : `Did you mean ${near}?`;
}

/** The names among which one of its kind is meant; of columns those of the relations that the statement names. */
function namesLike(code: string | undefined, statement: string) {
  if (code === SQLSTATE.undefinedFunction) return sql`select distinct proname::text as name from pg_proc`;
  const relations = sql`pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('ton', 'etl') and c.relkind in ('r', 'p', 'v')`;
  if (code === SQLSTATE.undefinedTable) return sql`select c.relname::text as name from ${relations}`;
  if (code !== SQLSTATE.undefinedColumn) return undefined;
  const words = sql.param(statement.toLowerCase().match(/\w+/g) ?? []);
  return sql`
    select distinct a.attname::text as name from pg_attribute a
    where a.attnum > 0 and not a.attisdropped
      and a.attrelid in (select c.oid from ${relations} and c.relname = any(${words}::text[]))`;
}
