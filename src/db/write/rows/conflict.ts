import { sql, type SQL } from 'drizzle-orm';
import { identifiers } from '../../connection/sql.ts';
import type { TableFacts } from '../../schema/describe.ts';

/**
 * When a stored row was changed: later than what is stored, and later than the time that new rows get (`began`). So equality
 * with that tells a row that was inserted from one that was updated (partitioned tables do not return `xmax`). Of the row
 * and the parameter alone, so that a statement that is replayed gives the same row.
 */
const changedAt = (began: SQL) => sql`loaded_at = greatest(t.loaded_at, ${began}) + interval '1 microsecond'`;

/** What the server makes of a row when it is asked, or may come to know later: not every copy of the row has it. */
const DERIVED = /^(extra|hash_norm|(.*_)?decoded(_.*)?|trace_id|trace_external_hash)$/;

/** True of a column that some copies of a row lack: there a null says nothing against a value. */
export function mayLack({ conflict }: Pick<TableFacts, 'conflict'>, name: string): boolean {
  return DERIVED.test(name) || (conflict.kind === 'fill' && conflict.columns.includes(name));
}

/**
 * The clause that says what becomes of a new row where its key is stored already; the stored row's alias is `t`. `began` is
 * the time that new rows get.
 */
export function onConflict({ conflict, key }: TableFacts, columns: readonly string[], began: SQL): SQL {
  const changed = changedAt(began);
  const target = sql`on conflict (${identifiers(key)})`;
  if (conflict.kind === 'keep') return sql`${target} do nothing`;
  if (conflict.kind === 'fill') {
    const filled = conflict.columns.map(
      (name) => sql`t.${sql.identifier(name)} is null and excluded.${sql.identifier(name)} is not null`,
    );
    return sql`${target} do update set ${assignments(conflict.columns, fill)}, ${changed} where ${sql.join(filled, sql` or `)}`;
  }
  const rest = columns.filter((name) => !key.includes(name));
  const [stored, sent] = [tuple('t', rest), tuple('excluded', rest)];
  const update = sql`${target} do update set ${assignments(rest, replace)}, ${changed}
    where ${stored} is distinct from ${sent}`;
  if (conflict.kind === 'replace') return update;
  const by = sql.identifier(conflict.by);
  return sql`${update} and excluded.${by} >= t.${by}`;
}

/**
 * As rows that are replaced, but a null never overwrites a value of a column that some copies lack: only one side of a
 * message knows its sender.
 */
export function onConflictOverwrite(facts: TableFacts, columns: readonly string[], began: SQL): SQL {
  const { conflict, key } = facts;
  const rest = columns.filter((name) => !key.includes(name));
  if (rest.length === 0 || conflict.kind === 'newer' || conflict.kind === 'replace')
    return onConflict(facts, columns, began);
  const overwrite = (name: string) => (mayLack(facts, name) ? preferSent(name) : replace(name));
  return sql`on conflict (${identifiers(key)}) do update set ${assignments(rest, overwrite)}, ${changedAt(began)}
    where ${tuple('t', rest)} is distinct from (${sql.join(rest.map(overwrite), sql`, `)})`;
}

function assignments(columns: readonly string[], value: (name: string) => SQL): SQL {
  return sql.join(
    columns.map((name) => sql`${sql.identifier(name)} = ${value(name)}`),
    sql`, `,
  );
}

const fill = (name: string) => sql`coalesce(t.${sql.identifier(name)}, excluded.${sql.identifier(name)})`;
const preferSent = (name: string) =>
  sql`coalesce(excluded.${sql.identifier(name)}, t.${sql.identifier(name)})`;
const replace = (name: string) => sql`excluded.${sql.identifier(name)}`;

function tuple(alias: string, columns: readonly string[]): SQL {
  const names = columns.map((name) => sql`${sql.identifier(alias)}.${sql.identifier(name)}`);
  return sql`(${sql.join(names, sql`, `)})`;
}
