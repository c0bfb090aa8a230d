import type { TextResult } from '../../../db/connection/as-text.ts';
import { fitTable } from '../table.ts';
import { formatRecords, formatResult, isTooWide, summarize, type SqlFormat } from './format-result.ts';
import { createRowWriter } from './row-writer.ts';

/** How rows are shown: as a table where it fits, each as a record, or as a table whose last column goes on below itself. */
export type ResultShape = 'table' | 'records' | 'lines';

/**
 * Prints a result to stdout, and to stderr what the statement did. A table that is wider than the terminal becomes
 * records, one below the other, as it does where these are asked for.
 */
export function showResult(result: TextResult, format: SqlFormat, shape: ResultShape): void {
  const { columns, rows, command } = result;
  if (format !== 'table') {
    const writer = createRowWriter(format);
    writer.columns(columns);
    // All of it is in memory: nobody has to wait.
    for (const row of rows) void writer.row(row);
    console.error(summarize(writer.end(), command));
    return;
  }
  if (columns.length > 0) console.log(shaped(result, shape));
  console.error(summarize(columns.length > 0 ? rows.length : undefined, command));
}

function shaped(result: TextResult, shape: ResultShape): string {
  const { isTTY, columns } = process.stdout;
  const table = formatResult(result, isTTY);
  if (shape === 'records') return formatRecords(result);
  if (!isTTY || !isTooWide(table, columns)) return table;
  return shape === 'table'
    ? formatRecords(result)
    : fitTable(
        result.columns,
        result.rows.map((row) => row.map((cell) => cell ?? '')),
      );
}
