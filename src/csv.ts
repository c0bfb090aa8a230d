/** The texts of a row. Null is a missing value. */
export type Cells = readonly (string | null)[];

/** A CSV line (RFC 4180, but it ends with a line feed). Null becomes an empty cell, and the empty string is quoted. */
export function csvLine(cells: Cells): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** The cells of a line that `csvLine` or Postgres' COPY wrote. */
export function cellsOf(line: string): Cells {
  const found = `,${line.replace(/\n$/, '')}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...found].map(
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? (plain === '' ? null : plain),
  );
}

/** Begins a file for spreadsheets. Without it Excel assumes an encoding other than UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** Texts that a spreadsheet would run as a formula. */
const FORMULA = /^\s*[=+\-@＝＋－＠\t\r\n]/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** A spreadsheet stores numbers as doubles, which keep this many digits. */
const DIGITS = 15;
/** Texts that a spreadsheet would turn into another number, for example by removing zeros. */
const LIKE_NUMBER = /^\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/;
const TIME = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\+00(?::00)?$/;

/** How a spreadsheet takes a column: Postgres' t and f, numbers that fit a double, or texts. */
export type ColumnKind = 'truth' | 'number' | 'text';

const TRUTHS: ReadonlyMap<string, string> = new Map([
  ['t', 'true'],
  ['f', 'false'],
]);
const NUMBERS: ReadonlySet<string> = new Set(['smallint', 'integer', 'real', 'double precision']);
/** Their values may have more digits than a double keeps, so that all of them are texts. */
const LONG_NUMBERS: ReadonlySet<string> = new Set(['bigint', 'numeric', 'text']);

/** The kind of a column, by the name of its type; undefined for times and other types, which are never numbers. */
export function columnKindOf(type: string): ColumnKind | undefined {
  const name = type.replace(/\(.*/, '');
  if (name === 'boolean') return 'truth';
  return NUMBERS.has(name) ? 'number' : LONG_NUMBERS.has(name) ? 'text' : undefined;
}

/**
 * Cells that Excel and LibreOffice keep unchanged: booleans as true and false, times (UTC) without the zone. Texts
 * that they would run as a formula, and numbers that would lose digits, get a leading apostrophe. So does each number
 * of a column of `kinds` text: a column has either numbers or texts.
 */
export function forSpreadsheets(cells: Cells, kinds: readonly (ColumnKind | undefined)[] = []): Cells {
  return cells.map((cell, index) => (cell === null ? null : forSpreadsheet(cell, kinds[index])));
}

function forSpreadsheet(text: string, kind: ColumnKind | undefined): string {
  if (kind === 'truth') return TRUTHS.get(text) ?? text;
  if (kind === 'number') return text;
  if (kind === 'text' && NUMBER.test(text)) return `'${text}`;
  const time = TIME.exec(text)?.[1];
  if (time !== undefined) return time;
  const digits = text.replaceAll(/^-?[0.]*|\./g, '').length;
  if (NUMBER.test(text) && digits <= DIGITS) return text;
  return FORMULA.test(text) || LIKE_NUMBER.test(text) ? `'${text}` : text;
}
