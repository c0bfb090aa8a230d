import { sql, type SQL } from 'drizzle-orm';
import type { Range } from '../../range.ts';

/** A condition on `utime` of a table's alias: within the range. */
export function during(alias: string, { from, to }: Range): SQL {
  const column = sql`${sql.identifier(alias)}.utime`;
  return sql`${column} >= to_timestamp(${from}::float8) and ${column} < to_timestamp(${to}::float8)`;
}

/** The second of a row as a range. */
export function secondOf(alias: string): SQL {
  return secondAt(sql`${sql.identifier(alias)}.utime`);
}

/** A time, rounded down to its second, as a range. */
export function secondAt(time: SQL): SQL {
  return sql`int8range(extract(epoch from ${time})::int8, extract(epoch from ${time})::int8 + 1)`;
}
