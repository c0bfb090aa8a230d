/** What is known beside SQL. */
export const COMMANDS_HELP = `\\d         tables and views, with what they are
\\d NAME    columns of a table or view
\\x         each row as a record, or no longer
\\?         this
\\q         ends, as Ctrl-D does at the prompt; Ctrl-C drops what was typed
Everything else is SQL and ends with a semicolon.`;

const RELATIONS = `
  select c.relname as name, case c.relkind when 'v' then 'view' else 'table' end as kind,
    split_part(obj_description(c.oid, 'pg_class'), '. ', 1) as meaning
  from pg_catalog.pg_class c
  where c.relnamespace = 'ton'::regnamespace and c.relkind in ('r', 'p', 'v') order by 2, 1`;

/** The statement behind \\d and \\d NAME; undefined for a line that is neither. */
export function describeStatement(line: string): string | undefined {
  const name = /^\\d[tv]?\+?(?![a-z])\s*([\w.]*)\s*;?$/.exec(line.trim())?.[1];
  if (name === undefined) return undefined;
  return name === '' ? RELATIONS : columnsOf(name);
}

function columnsOf(name: string): string {
  return `
    select a.attname as column, format_type(a.atttypid, a.atttypmod) as type,
      split_part(col_description(a.attrelid, a.attnum), '. ', 1) as meaning
    from pg_catalog.pg_attribute a
    where a.attrelid = '${name}'::regclass and a.attnum > 0 and not a.attisdropped order by a.attnum`;
}
