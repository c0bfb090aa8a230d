import { literal } from '../tables/literal.ts';
import type { ColumnDescription } from '../read/table-description.ts';
import { columnType, EXACT } from './column-type.ts';

/*
 * Rows between Postgres and DuckDB, as SQL of DuckDB: in the text format of COPY, and every value exactly as Postgres has it.
 */

export type CopiedColumns = readonly Pick<ColumnDescription, 'name' | 'type'>[];

/** Bodies of messages are long. */
const LONGEST_LINE = 256 * 2 ** 20;

const named = (name: string) => `"${name.replaceAll('"', '""')}"`;

/**
 * The text format of COPY. It escapes what separates columns and rows, so that every text survives: in CSV a reader has to
 * guess which line ends are a text's own.
 */
export const COPY_TEXT = `delim = '\t', quote = '', escape = '', nullstr = '\\N'`;

/** What COPY escapes besides the backslash: its letters, and the numbers of the characters. */
const ESCAPES = [
  ['b', 8],
  ['t', 9],
  ['n', 10],
  ['v', 11],
  ['f', 12],
  ['r', 13],
] as const;

/** A text as COPY has escaped it. Between two backslashes that stand for one, each other one begins an escape. */
function unescaped(text: string): string {
  const pieces = ESCAPES.reduce(
    (so, [letter, code]) => `replace(${so}, '\\${letter}', chr(${code}))`,
    'piece',
  );
  return `case when contains(${text}, '\\') then array_to_string(list_transform(string_split(${text}, '\\\\'),
    lambda piece: ${pieces}), '\\') else ${text} end`;
}

/** A text with what COPY must not find in it escaped: few have any of that. */
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
 * The value of a text that Postgres has printed; null where no value of the type is the same. Amounts become decimals by
 * way of integers, which DuckDB reads many times faster, but which it would round.
 */
function fitted(text: string, type: string): string {
  return type === 'TIMESTAMPTZ'
    ? `case when ${text}[5] = '-' and suffix(${text}, '+00') then try_cast(left(${text}, -3) as timestamp)::timestamptz end`
    : `case when not contains(${text}, '.') then try_cast(try_cast(${text} as hugeint) as ${type}) end`;
}

/** The rows of a file in the text format of COPY, behind its first line. What its type does not hold stands in `EXACT`, as text. */
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

/** What a column's text has become stands beside it, under a name that no column has. */
const valueOf = (text: string) => text.replace(/"$/, ' as value"');

/** The texts of a row that have become null, as JSON; null where there are none. */
function exact(narrow: readonly { readonly text: string; readonly value: string }[]): string {
  const isLost = narrow.map(({ text, value }) => `(${value} is null and ${text} is not null)`);
  // As Postgres prints numbers and times, they need no escapes.
  const texts = narrow.map(
    ({ text }, at) => `case when ${isLost[at] ?? ''} then '${text}:"' || ${text} || '"' end`,
  );
  if (narrow.length === 0) return 'null::varchar';
  return `case when ${isLost.join(' or ')} then '{' || concat_ws(',', ${texts.join(', ')}) || '}' end`;
}

/** Postgres has values of these types that DuckDB or Parquet has not. */
function isNarrow(type: string): boolean {
  return type === 'TIMESTAMPTZ' || type.startsWith('DECIMAL');
}

/** A value as the text format of COPY has it. */
export function printedValue(name: string, types: ReadonlyMap<string, string>): string {
  const [value, type] = [named(name), types.get(name)];
  if (type === undefined) return 'null';
  if (type === 'VARCHAR') return escaped(value);
  const isTime = type === 'TIMESTAMP WITH TIME ZONE';
  if (!isTime && !isNarrow(type)) return value;
  // Without DuckDB's calendars, which take longer than all the rest of a row.
  const text = isTime ? `make_timestamp(epoch_us(${value}))::varchar || '+00'` : `${value}::varchar`;
  if (!types.has(EXACT)) return text;
  return `case when ${EXACT} is null then ${text} else coalesce(${text}, ${EXACT}->>${literal(name)}) end`;
}
