/** A row of texts; null is an empty cell. */
export type Cells = readonly (string | null)[];

/** A line by RFC 4180, but with a line feed at its end. Null is empty, and the empty string is quoted. */
export function csvLine(cells: Cells): string {
  return `${cells.map(csvCell).join(',')}\n`;
}

function csvCell(value: string | null): string {
  if (value === null) return '';
  return value === '' || /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
}

/** The cells of one line as `csvLine` and Postgres' COPY write it. */
export function cellsOf(line: string): Cells {
  const found = `,${line.replace(/\n$/, '')}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^,]*))/g);
  return [...found].map(
    ([, quoted, plain = '']) => quoted?.replaceAll('""', '"') ?? (plain === '' ? null : plain),
  );
}

/** The byte order mark. Without it, Excel assumes another encoding than UTF-8. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** A spreadsheet would run such a text as a formula. */
const FORMULA = /^\s*[=+\-@＝＋－＠\t\r\n]/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** The digits that a double can hold, which spreadsheets use for numbers. */
const DIGITS = 15;
/** A spreadsheet would drop the zeros of such a text, or convert it to a number. */
const LIKE_NUMBER = /^\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/;
const TIME = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\+00(?::00)?$/;

/**
 * Cells that Excel and LibreOffice import unchanged: Booleans as true and false, and times without the zone,
 * which is UTC. Texts that would run as a formula, and numbers that would lose digits, get an apostrophe in
 * front. `truths` marks the cells that are Postgres' t and f.
 */
export function forSpreadsheets(cells: Cells, truths: readonly boolean[] = []): Cells {
  return cells.map((cell, place) => (cell === null ? null : forSpreadsheet(cell, truths[place] === true)));
}

function forSpreadsheet(text: string, isTruth: boolean): string {
  if (isTruth) return text === 't' ? 'true' : text === 'f' ? 'false' : text;
  const time = TIME.exec(text)?.[1];
  if (time !== undefined) return time;
  const digits = text.replaceAll(/^-?[0.]*|\./g, '').length;
  if (NUMBER.test(text) && digits <= DIGITS) return text;
  return FORMULA.test(text) || LIKE_NUMBER.test(text) ? `'${text}` : text;
}
