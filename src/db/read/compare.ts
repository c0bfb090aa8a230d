import { sql, type SQL } from 'drizzle-orm';
import { z } from 'zod';
import { stringify } from 'lossless-json';
import { parseRangeText, type Range } from '../../range.ts';
import type { Session } from '../connection/database.ts';
import { targetOf, type Target } from '../write/target.ts';

/** What the server makes of a row when it is asked, or may come to know later: never compared for equality. */
const DERIVED = /^(extra|hash_norm|(.*_)?decoded(_.*)?|trace_id|trace_external_hash)$/;

/** A row that the source and the table do not agree on. */
export interface Difference {
  readonly kind: 'missing' | 'differing' | 'not_in_source';
  /** Its key, and what differs. */
  readonly row: string;
  readonly second: Range;
}

const Row = z.object({
  kind: z.enum(['missing', 'differing', 'not_in_source']),
  row: z.string(),
  second: z.string().transform((text) => parseRangeText(text)[0] ?? { from: 0, to: 0 }),
});

/**
 * Holds rows just read against those stored, by key, in every column that cannot change. `whole`: the range that the
 * rows are all of, so that what is stored there beyond them is not in the source. Tables whose rows change are passed
 * over; of those where a newer copy counts, only equal copies are compared.
 */
export async function compareRows(
  session: Session,
  table: object,
  rows: readonly object[],
  whole: Range | undefined,
): Promise<Difference[]> {
  const target = targetOf(table);
  if (target.facts.conflict.kind === 'replace') return [];
  const found = await session.rows(
    sql`
      with n as materialized (
        select * from json_populate_recordset(null::${target.into}, ${stringify(rows) ?? '[]'}::json)),
      compared as (
        select n.utime, ${keyText(target, 'n')} as key, t.utime is null as missing, ${differingColumns(target)} as columns
        from n left join ${target.into} t on ${sameKey(target)})
      select distinct case when missing then 'missing' else 'differing' end as kind,
        key || case when missing then '' else ' in ' || array_to_string(columns, ', ') end as row, ${secondOf('c')} as second
      from compared c where missing or cardinality(columns) > 0
      ${whole === undefined ? sql`` : sql`union all ${beyond(target, whole)}`}
      limit 1000`,
    Row,
  );
  return found;
}

const secondOf = (alias: string) => {
  const epoch = sql`extract(epoch from ${sql.identifier(alias)}.utime)::int8`;
  return sql`int8range(${epoch}, ${epoch} + 1)::text`;
};

function beyond(target: Target, { from, to }: Range): SQL {
  return sql`
    select 'not_in_source', ${keyText(target, 't')}, ${secondOf('t')} from ${target.into} t
    where t.utime >= to_timestamp(${from}::float8) and t.utime < to_timestamp(${to}::float8)
      and not exists (select 1 from n where ${sameKey(target)})`;
}

function sameKey({ facts }: Target): SQL {
  return sql.join(
    facts.key.map((name) => sql`t.${sql.identifier(name)} = n.${sql.identifier(name)}`),
    sql` and `,
  );
}

function keyText({ facts }: Target, alias: string): SQL {
  const names = facts.key.filter((name) => name !== 'utime');
  return sql`concat_ws(' ', ${sql.join(
    names.map((name) => sql`${sql.identifier(alias)}.${sql.identifier(name)}`),
    sql`, `,
  )})`;
}

/** The names of the columns in which two copies differ; a column that may be filled later counts only where both are. */
function differingColumns({ facts, columns }: Target): SQL {
  const { conflict, key } = facts;
  const late: readonly string[] = conflict.kind === 'fill' ? conflict.columns : [];
  const compared = columns.filter((name) => !key.includes(name) && !DERIVED.test(name));
  const tests = compared.map((name) => {
    const [stored, read] = [sql`t.${sql.identifier(name)}`, sql`n.${sql.identifier(name)}`];
    const differs = late.includes(name) ? sql`${stored} <> ${read}` : sql`${stored} is distinct from ${read}`;
    return sql`case when ${differs} then ${name}::text end`;
  });
  if (tests.length === 0) return sql`array[]::text[]`;
  const names = sql`array_remove(array[${sql.join(tests, sql`, `)}], null)`;
  if (conflict.kind !== 'newer') return names;
  const by = sql.identifier(conflict.by);
  return sql`case when t.${by} = n.${by} then ${names} else array[]::text[] end`;
}
