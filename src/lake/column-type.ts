import type { ColumnDescription } from '../read/table-description.ts';

/** A column's type in DuckDB, which writes the files, and in the log that table formats read. */
export interface ColumnType {
  readonly duck: string;
  readonly delta: string;
}

/**
 * A column of every table in a lake: values of a row that their Parquet types cannot hold, as JSON of names and texts.
 * The columns of these values are null.
 */
export const EXACT = 'exact_values';

const TEXT: ColumnType = { duck: 'VARCHAR', delta: 'string' };

const TYPES: Readonly<Record<string, ColumnType>> = {
  boolean: { duck: 'BOOLEAN', delta: 'boolean' },
  smallint: { duck: 'INTEGER', delta: 'integer' },
  integer: { duck: 'INTEGER', delta: 'integer' },
  bigint: { duck: 'BIGINT', delta: 'long' },
  'double precision': { duck: 'DOUBLE', delta: 'double' },
  // The widest decimal of Parquet.
  numeric: { duck: 'DECIMAL(38,0)', delta: 'decimal(38,0)' },
  'timestamp with time zone': { duck: 'TIMESTAMPTZ', delta: 'timestamp' },
};

/**
 * Whole numbers of up to 256 bits: identities and masks, which are never added up. No decimal of Parquet holds them.
 */
const WIDE: ReadonlySet<string> = new Set([
  'index',
  'next_item_index',
  'order_seqno',
  'next_order_seqno',
  'approvals_mask',
]);

/** Times are microseconds in UTC, amounts are decimals of 38 digits. Types that are not listed are text. */
export function columnType({ name, type }: Pick<ColumnDescription, 'name' | 'type'>): ColumnType {
  return WIDE.has(name) ? TEXT : (TYPES[type.replace(/\(.*/, '')] ?? TEXT);
}
