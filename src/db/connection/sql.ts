import { sql, type SQL } from 'drizzle-orm';
import { toMultirangeText, toRangeText, type Range } from '../../range.ts';

/** A range as a parameter of a statement. */
export function rangeParam(range: Range): SQL {
  return sql`${toRangeText(range)}::int8range`;
}

/** Ranges as a parameter of a statement. */
export function multirangeParam(ranges: readonly Range[]): SQL {
  return sql`${toMultirangeText(ranges)}::int8multirange`;
}

/** Names as SQL: each quoted, with commas between. */
export function identifiers(names: readonly string[]): SQL {
  return sql.join(
    names.map((name) => sql.identifier(name)),
    sql`, `,
  );
}
