import { fileWriter, ParquetWriter } from 'hyparquet-writer';
import type { ColumnDescription } from '../db/read/table-description.ts';
import type { TextRow } from '../db/read/table-parts.ts';
import { UsageError } from '../errors.ts';
import type { FileFormat } from './row-file.ts';
import { WIDE_NUMBERS } from './wide-numbers.ts';

type Value = string | number | bigint | boolean | null;
type SchemaElement = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

/** How a column of Postgres becomes one of Parquet. */
interface Column {
  readonly element: SchemaElement;
  /** The value of what Postgres prints. */
  readonly read: (text: string) => Value;
}

/** Rows of one row group: enough for columns to compress, few enough to be held. */
const GROUP = 50_000;

/** Digits of Parquet's widest decimal. */
const DIGITS = 38;

/**
 * Parquet, compressed with Snappy. Times are microseconds in UTC, amounts decimals of 38 digits without a fraction, JSON,
 * numbers of 256 bits and everything else text.
 */
export const parquet: FileFormat = {
  name: 'parquet',
  open(path, table) {
    const columns = table.columns.map(columnOf);
    const schema = [{ name: 'root', num_children: columns.length }, ...columns.map(({ element }) => element)];
    const file = new ParquetWriter({ writer: fileWriter(path), schema, createdBy: 'toncenter-etl' });
    let waiting: TextRow[] = [];
    const flush = async () => {
      if (waiting.length === 0) return;
      const columnData = columns.map(({ element, read }, place) => ({
        name: element.name,
        data: waiting.map((row) => valueOf(row[place], read)),
      }));
      waiting = [];
      await file.write({ columnData, rowGroupSize: GROUP });
    };
    return Promise.resolve({
      async write(rows) {
        waiting.push(...rows);
        if (waiting.length >= GROUP) await flush();
      },
      async end() {
        await flush();
        await file.finish();
      },
    });
  },
};

function valueOf(text: string | null | undefined, read: Column['read']): Value {
  return text === null || text === undefined ? null : read(text);
}

function columnOf({ name, type, nullable }: ColumnDescription): Column {
  const repetition = { name, repetition_type: nullable ? 'OPTIONAL' : 'REQUIRED' } as const;
  switch (WIDE_NUMBERS.has(name) ? 'text' : type) {
    case 'boolean':
      return { element: { ...repetition, type: 'BOOLEAN' }, read: (text) => text === 'true' };
    case 'integer':
    case 'smallint':
      return { element: { ...repetition, type: 'INT32' }, read: Number };
    case 'bigint':
      return { element: { ...repetition, type: 'INT64' }, read: BigInt };
    case 'double precision':
      return { element: { ...repetition, type: 'DOUBLE' }, read: Number };
    case 'numeric':
      return { element: { ...repetition, ...DECIMAL }, read: (text) => decimal(name, text) };
    case 'timestamp with time zone':
      return { element: { ...repetition, ...MICROSECONDS }, read: microseconds };
    default:
      return {
        element: { ...repetition, type: 'BYTE_ARRAY', converted_type: 'UTF8' },
        read: (text) => text,
      };
  }
}

const DECIMAL = {
  type: 'FIXED_LEN_BYTE_ARRAY',
  type_length: 16,
  converted_type: 'DECIMAL',
  precision: DIGITS,
  scale: 0,
} as const;

const MICROSECONDS = {
  type: 'INT64',
  logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
} as const;

function decimal(column: string, text: string): bigint {
  if (!/^-?\d{1,38}$/.test(text)) {
    throw new UsageError(`${column} holds ${text}, which is more than ${DIGITS} digits or no whole number`, {
      hint: 'Parquet has no type for it: export as csv, which holds every digit.',
    });
  }
  return BigInt(text);
}

/** Microseconds since 1970 of a time as Postgres prints it in UTC: `2026-01-01 00:00:00.123456+00`. */
function microseconds(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('+00', '').split('.');
  return BigInt(Date.parse(`${whole.replace(' ', 'T')}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0'));
}
