import { wrap } from '../terminal/terminal.ts';

/** Rows as aligned columns under a header: text left, numbers right. */
export function formatTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, column) =>
    rows.reduce((widest, row) => Math.max(widest, (row[column] ?? '').length), title.length),
  );
  const numeric = header.map(
    (_, column) => rows.length > 0 && rows.every((row) => /^-?[\d,.]*%?$/.test(row[column] ?? '')),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) =>
        numeric[column] === true ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  return [line(header), ...rows.map(line)].join('\n');
}

/** Minimum width of the last column. */
const NARROWEST = 20;

/**
 * A table that fits the terminal. If it is too wide, the columns in `spare` are dropped one by one, in that order. If
 * it is still too wide, the last column is wrapped.
 */
export function fitTable(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  spare: readonly string[] = [],
): string {
  const table = formatTable(header, rows);
  if (fitsTerminal(table)) return table;
  const [least, ...others] = spare;
  if (least === undefined) return foldLastColumn(table, process.stdout.columns);
  const spared = header.indexOf(least);
  const rest = (cells: readonly string[]) => cells.filter((_, column) => column !== spared);
  return fitTable(rest(header), rows.map(rest), others);
}

function foldLastColumn(table: string, columns: number): string {
  const indent = (table.split('\n')[0] ?? '').lastIndexOf('  ') + 2;
  const rest = Math.max(columns - indent, NARROWEST);
  const fold = (line: string) =>
    line.slice(0, indent) + wrap(line.slice(indent), rest, '').replaceAll('\n', `\n${' '.repeat(indent)}`);
  return table.split('\n').map(fold).join('\n');
}

/** True if no line is longer than the terminal is wide, or if stdout is not a terminal. */
export function fitsTerminal(text: string): boolean {
  const { isTTY, columns } = process.stdout;
  return !isTTY || columns === 0 || text.split('\n').every((line) => line.length <= columns);
}

/** A number for people, with two significant digits: `950`, `12k`, `3.4M`. */
export function formatNumber(value: number): string {
  const power = value < 1000 ? 0 : Math.min(3, Math.floor(Math.log10(value) / 3));
  const rounded = power === 0 ? Math.round(value) : Number((value / 1000 ** power).toPrecision(2));
  return `${rounded}${['', 'k', 'M', 'G'][power] ?? ''}`;
}
