import { sql, type SQL } from 'drizzle-orm';
import { partsOf, type Stretch } from '../range.ts';
import { multirangeParam } from './sql.ts';

/** A condition on `utime` of a table alias: within the stretch. */
export function during(alias: string, stretch: Stretch): SQL {
  const column = sql`${sql.identifier(alias)}.utime`;
  const within = sql`${column} >= to_timestamp(${stretch.from}::float8) and ${column} < to_timestamp(${stretch.to}::float8)`;
  const parts = partsOf(stretch);
  if (parts.length < 2) return within;
  return sql`${within} and ${multirangeParam(parts)} @> extract(epoch from ${column})::int8`;
}

/** The number of the stretch's part that contains a row. */
export function partOf(alias: string, stretch: Stretch): SQL {
  const parts = partsOf(stretch);
  if (parts.length < 2) return sql`1`;
  const starts = sql.param(parts.map(({ from }) => from));
  return sql`width_bucket(extract(epoch from ${sql.identifier(alias)}.utime)::int8, ${starts}::int8[])`;
}

/** The second of a row as a range. */
export function secondOf(alias: string): SQL {
  return secondAt(sql`${sql.identifier(alias)}.utime`);
}

/** A time, rounded down to its second, as a range. */
export function secondAt(time: SQL): SQL {
  return sql`int8range(extract(epoch from ${time})::int8, extract(epoch from ${time})::int8 + 1)`;
}
