import type { ColumnDescription } from '../read/table-description.ts';

/** A column's type in the words of DuckDB, which writes the files, and of the log that table formats read. */
export interface ColumnType {
  readonly duck: string;
  readonly delta: string;
}

/**
 * A column that every table of a lake has: the values of a row that their types of Parquet do not hold, as JSON of names and
 * texts. Their own columns are null there.
 */
export const EXACT = 'exact_values';

const TEXT: ColumnType = { duck: 'VARCHAR', delta: 'string' };

const TYPES: Readonly<Record<string, ColumnType>> = {
  boolean: { duck: 'BOOLEAN', delta: 'boolean' },
  smallint: { duck: 'INTEGER', delta: 'integer' },
  integer: { duck: 'INTEGER', delta: 'integer' },
  bigint: { duck: 'BIGINT', delta: 'long' },
  'double precision': { duck: 'DOUBLE', delta: 'double' },
  // Parquet's widest.
  numeric: { duck: 'DECIMAL(38,0)', delta: 'decimal(38,0)' },
  'timestamp with time zone': { duck: 'TIMESTAMPTZ', delta: 'timestamp' },
};

/** Whole numbers of up to 256 bits: identities and masks, which nobody adds up. No decimal of Parquet holds them. */
const WIDE: ReadonlySet<string> = new Set([
  'index',
  'next_item_index',
  'order_seqno',
  'next_order_seqno',
  'approvals_mask',
]);

/** Times are microseconds in UTC, amounts decimals of 38 digits, JSON, numbers of 256 bits and everything else text. */
export function columnType({ name, type }: Pick<ColumnDescription, 'name' | 'type'>): ColumnType {
  return WIDE.has(name) ? TEXT : (TYPES[type.replace(/\(.*/, '')] ?? TEXT);
}
