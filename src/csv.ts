/** A row of texts; null is nothing. */
export type Cells = readonly (string | null)[];

/** As RFC 4180 has it, but lines end with a line feed; null as nothing, the empty string in quotes. */
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

/** What stands before a file of a spreadsheet: without it Excel takes UTF-8 for another encoding. */
export const BYTE_ORDER_MARK = '\uFEFF';

/** A spreadsheet would run it. */
const FORMULA = /^\s*[=+\-@＝＋－＠\t\r\n]/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
/** A double, which it makes of numbers, holds as many. */
const DIGITS = 15;
/** It would take the zeros away, or make a number of what is none. */
const LIKE_NUMBER = /^\d+(?:\.\d*)?(?:[eE][+-]?\d+)?$/;
const TIME = /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?)\+00(?::00)?$/;

/**
 * Cells as Excel and LibreOffice take them without changing them: truths as true and false, times without the zone, which
 * is UTC. Texts that they would run as a formula, and numbers of which they would lose digits, have an apostrophe in front.
 * `truths` says which cells are Postgres' t and f.
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
