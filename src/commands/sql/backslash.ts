import { DatabaseError, UsageError } from '../../errors.ts';
import type { ResultShape } from './results.ts';

/** What is known beside SQL. */
const COMMANDS_HELP = `\\d         tables, views and functions, with what they are
\\d NAME    columns of a table or view
\\df        functions alone
\\timing    how long each statement takes, or no longer
\\x         each row as a record, or no longer
\\?         this
\\q         ends, as Ctrl-D does at the prompt; Ctrl-C ends a statement, or drops what was typed; Tab completes
Everything else is SQL and ends with a semicolon.`;

const RELATIONS = `
  select c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
    split_part(obj_description(c.oid, 'pg_class'), '. ', 1) as meaning
  from pg_catalog.pg_class c
  where c.relnamespace = 'ton'::regnamespace and c.relkind in ('r', 'p', 'v')`;

const FUNCTIONS = `
  select p.proname || '(' || pg_get_function_identity_arguments(p.oid) || ')' as name, 'function' as kind,
    split_part(obj_description(p.oid, 'pg_proc'), '. ', 1) as meaning
  from pg_catalog.pg_proc p
  where p.pronamespace = 'ton'::regnamespace
    or p.pronamespace = 'etl'::regnamespace and p.proname in ('assert_complete', 'fed')`;

/** What Tab completes beside SQL's own words. */
export const NAMES = `
  select c.relname from pg_catalog.pg_class c
  where c.relnamespace in ('ton'::regnamespace, 'etl'::regnamespace) and c.relkind in ('r', 'p', 'v')
  union select a.attname from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid = a.attrelid
  where c.relnamespace = 'ton'::regnamespace and c.relkind in ('r', 'p', 'v') and a.attnum > 0 and not a.attisdropped
  union select p.proname from pg_catalog.pg_proc p where p.pronamespace = 'ton'::regnamespace
  union select nspname from pg_catalog.pg_namespace where nspname in ('ton', 'etl')`;

export const NAMES_OF_LAKE = `
  select view_name from duckdb_views() where schema_name in ('ton', 'etl')
  union select column_name from duckdb_columns() where schema_name = 'ton'
  union select function_name from duckdb_functions() where schema_name = 'ton'`;

/** The statement behind \\d, \\d NAME and \\df; undefined for a line that is none of them. */
function describeStatement(line: string): string | undefined {
  if (/^\\df\+?\s*;?$/.test(line.trim())) return `${FUNCTIONS} order by 1`;
  const name = /^\\d[tv]?\+?(?![a-z])\s*([\w.]*)\s*;?$/.exec(line.trim())?.[1];
  if (name === undefined) return undefined;
  return name === '' ? `${RELATIONS} union all ${FUNCTIONS} order by 2, 1` : columnsOf(name);
}

function columnsOf(name: string): string {
  return `
    select a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
      split_part(col_description(a.attrelid, a.attnum), '. ', 1) as meaning
    from pg_catalog.pg_attribute a
    where a.attrelid = '${name}'::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`;
}

/** Runs a statement and shows what it returns, until the signal ends it. */
type Show = (statement: string, shape: ResultShape, signal: AbortSignal | undefined) => Promise<void>;

/**
 * What runs each statement that was typed or piped, and does what a line that begins with a backslash says: one for each
 * conversation, because it remembers \\x and \\timing.
 */
export function openRunner(show: Show): (typed: string, signal?: AbortSignal) => Promise<void> {
  let asRecords = false;
  let isTimed = false;
  return async (typed, signal) => {
    if (!typed.startsWith('\\')) {
      const began = performance.now();
      await show(typed, asRecords ? 'records' : 'table', signal);
      if (isTimed) console.error(`Time: ${(performance.now() - began).toFixed(0)} ms`);
      return;
    }
    const statement = describeStatement(typed);
    if (statement !== undefined) return show(statement, 'lines', signal).catch(withoutStatement);
    if (typed === '\\x') {
      asRecords = !asRecords;
      console.error(asRecords ? 'each row as a record' : 'rows as a table where they fit');
    } else if (typed === '\\timing') {
      isTimed = !isTimed;
      console.error(isTimed ? 'the time of each statement is shown' : 'times are not shown');
    } else if (typed === '\\?') console.error(COMMANDS_HELP);
    else throw new UsageError(`unknown command ${typed}`, { hint: `These are known:\n${COMMANDS_HELP}` });
  };
}

/** The place in a statement that nobody has typed tells nothing. */
function withoutStatement(error: unknown): never {
  if (!(error instanceof DatabaseError)) throw error;
  const [message = ''] = error.message.split('\n');
  throw new DatabaseError(message, { cause: error, ...(error.hint !== undefined && { hint: error.hint }) });
}
