import { chooseDatasets } from '../../dataset/dataset.ts';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import { UsageError } from '../../errors.ts';
import { tablesOf, type ExportedTable } from '../../export/tables-of.ts';
import { parseRange, type Range } from '../../range.ts';
import type { Invocation } from '../command.ts';

export interface ExportFlags {
  readonly from: string;
  readonly to: string;
  readonly out: string;
  readonly only?: readonly string[];
  readonly format: string;
  readonly spreadsheet?: boolean;
}

/** What an export is asked for. */
interface ExportWanted {
  readonly range: Range;
  readonly format: 'parquet' | 'csv' | 'spreadsheet';
  readonly tables: readonly ExportedTable[];
}

/**
 * Without a choice: all datasets, of which an export takes what is covered.
 * @throws UsageError for a format, a dataset or a range that does not exist
 */
export async function parseExport(
  { now }: Pick<Invocation, 'now'>,
  flags: ExportFlags,
): Promise<ExportWanted> {
  const range = parseRange(flags.from, flags.to, now);
  const format = formatOf(flags);
  const available = await loadDatasets();
  const chosen = flags.only === undefined ? available : chooseDatasets(flags.only, available);
  return { range, format, tables: tablesOf(chosen, available) };
}

function formatOf({ format: name, spreadsheet = false }: ExportFlags): ExportWanted['format'] {
  if (spreadsheet && name === 'csv') return 'spreadsheet';
  if (spreadsheet) throw new UsageError('--spreadsheet is a kind of --format csv: give both');
  if (name === 'parquet' || name === 'csv') return name;
  throw new UsageError(`--format is parquet or csv, not "${name}"`);
}
