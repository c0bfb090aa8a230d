import { literal } from '../tables/describe.ts';
import type { ColumnDescription } from '../read/table-rows.ts';

/*
 * Converts rows between Postgres and DuckDB, as SQL of DuckDB. Rows are in the text format of COPY, with every value
 * exactly as in Postgres.
 */

export type CopiedColumns = readonly Pick<ColumnDescription, 'name' | 'type'>[];

/** Bodies of messages are long. */
const LONGEST_LINE = 256 * 2 ** 20;

const named = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * The text format of COPY. It escapes the separators of columns and rows, so that every text survives. In CSV, a reader
 * has to guess which line ends belong to a text.
 */
export const COPY_TEXT = `delim = '\t', quote = '', escape = '', nullstr = '\\N'`;

/** The characters that COPY escapes besides the backslash: letters of the escapes, and character codes. */
const ESCAPES = [
  ['b', 8],
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
] as const;

/** Undoes the escapes of COPY. A double backslash stands for one; any other backslash begins an escape. */
function unescaped(text: string): string {
  const pieces = ESCAPES.reduce(
    (so, [letter, code]) => `replace(${so}, '\\${letter}', chr(${code}))`,
    'piece',
  );
  return `case when contains(${text}, '\\') then array_to_string(list_transform(string_split(${text}, '\\\\'),
    lambda piece: ${pieces}), '\\') else ${text} end`;
}

/** Escapes a text for COPY. Few texts need it. */
function escaped(text: string): string {
  const needed = ESCAPES.filter(([letter]) => 'tnr'.includes(letter));
  const isPlain = ["'\\'", ...needed.map(([, code]) => `chr(${code})`)].map(
    (one) => `not contains(${text}, ${one})`,
  );
  const bare = `replace(${text}, '\\', '\\\\')`;
  const whole = needed.reduce((so, [letter, code]) => `replace(${so}, chr(${code}), '\\${letter}')`, bare);
  return `case when ${isPlain.join(' and ')} then ${text} else ${whole} end`;
}

/**
 * The value of a text that Postgres printed; null if the type has no equal value. Amounts become decimals by way of
 * integers: DuckDB parses decimals many times slower. It would round fractions, so these become null.
 */
function fitted(text: string, type: string): string {
  return type === 'TIMESTAMPTZ'
    ? `case when ${text}[5] = '-' and suffix(${text}, '+00') then try_cast(left(${text}, -3) as timestamp)::timestamptz end`
    : `case when not contains(${text}, '.') then try_cast(try_cast(${text} as hugeint) as ${type}) end`;
}

/** The rows of a file in COPY's text format, after its first line. Values that do not fit are in `EXACT`. */
export function rowsOf(rows: string, columns: CopiedColumns): string {
  const typed = columns.map((column) => ({ text: named(column.name), type: columnType(column).duck }));
  const narrow = typed
    .filter(({ type }) => isNarrow(type))
    .map(({ text, type }) => ({ text, type, value: valueOf(text) }));
  const read = typed.map(({ text, type }) => `${text}: ${literal(isNarrow(type) ? 'VARCHAR' : type)}`);
  const values = typed.map(({ text, type }) => {
    if (isNarrow(type)) return `${valueOf(text)} as ${text}`;
    return type === 'VARCHAR' ? `${unescaped(text)} as ${text}` : text;
  });
  const fits = narrow.map(({ text, type, value }) => `${fitted(text, type)} as ${value}`);
  return `select ${[...values, `${exact(narrow)} as ${EXACT}`].join(', ')} from (select ${['*', ...fits].join(', ')}
    from read_csv(${literal(rows)}, auto_detect = false, header = false, ${COPY_TEXT}, new_line = '\\n', skip = 1, parallel = false,
    max_line_size = ${LONGEST_LINE}, columns = {${read.join(', ')}}))`;
}

/** The converted value of a column is placed next to its text, under a name that no column has. */
const valueOf = (text: string) => text.replace(/"$/, ' as value"');

/** The texts of a row whose values became null, as JSON; null if there are none. */
function exact(narrow: readonly { readonly text: string; readonly value: string }[]): string {
  const lost = narrow.map(({ text, value }) => ({
    text,
    isLost: `(${value} is null and ${text} is not null)`,
  }));
  // Numbers and times, as Postgres prints them, need no escapes.
  const texts = lost.map(({ text, isLost }) => `case when ${isLost} then '${text}:"' || ${text} || '"' end`);
  if (narrow.length === 0) return 'null::varchar';
  return `case when ${lost.map(({ isLost }) => isLost).join(' or ')} then '{' || concat_ws(',', ${texts.join(', ')}) || '}' end`;
}

/** True of types that have fewer values in DuckDB or Parquet than in Postgres. */
function isNarrow(type: string): boolean {
  return type === 'TIMESTAMPTZ' || type.startsWith('DECIMAL');
}

/** A value in the text format of COPY. */
export function printedValue(name: string, types: ReadonlyMap<string, string>): string {
  const [value, type] = [named(name), types.get(name)];
  if (type === undefined) return 'null';
  if (type === 'VARCHAR') return escaped(value);
  const isTime = type === 'TIMESTAMP WITH TIME ZONE';
  if (!isTime && !isNarrow(type)) return value;
  // Avoids DuckDB's calendars, which take longer than the rest of the row.
  const text = isTime ? `make_timestamp(epoch_us(${value}))::varchar || '+00'` : `${value}::varchar`;
  if (!types.has(EXACT)) return text;
  return `case when ${EXACT} is null then ${text} else coalesce(${text}, ${EXACT}->>${literal(name)}) end`;
}

/** A column's type in DuckDB, which writes the files, and in the log that table formats read. */
interface ColumnType {
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
