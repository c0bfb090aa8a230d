import type { TextResult } from '../../../db/connection/database.ts';
import { wrap } from '../../../terminal/terminal.ts';
import { formatRecords, formatResult, isTooWide, summarize, type SqlFormat } from './format-result.ts';

/** Columns that the last one has, however little the others leave. */
const NARROWEST = 20;

/** How rows are shown: as a table where it fits, each as a record, or as a table whose last column goes on below itself. */
export type Shape = 'table' | 'records' | 'lines';

/**
 * Prints a result to stdout, and to stderr what the statement did. A table that is wider than the terminal becomes
 * records, one below the other, as it does where these are asked for.
 */
export function showResult(result: TextResult, format: SqlFormat, shape: Shape): void {
  if (result.columns.length > 0)
    console.log(format === 'table' ? shaped(result, shape) : formatResult(result, format, false));
  console.error(summarize(result));
}

function shaped(result: TextResult, shape: Shape): string {
  const { isTTY, columns } = process.stdout;
  const table = formatResult(result, 'table', isTTY);
  if (shape === 'records') return formatRecords(result);
  if (!isTTY || !isTooWide(table, columns)) return table;
  return shape === 'table'
    ? formatRecords(result)
    : foldLastColumn(formatResult(result, 'table', false), columns);
}

/** Words of the last column that do not fit into the terminal stand below the others. */
function foldLastColumn(table: string, columns: number): string {
  const indent = (table.split('\n')[0] ?? '').lastIndexOf('  ') + 2;
  const rest = Math.max(columns - indent, NARROWEST);
  const fold = (line: string) =>
    line.slice(0, indent) + wrap(line.slice(indent), rest, '').replaceAll('\n', `\n${' '.repeat(indent)}`);
  return table.split('\n').map(fold).join('\n');
}
