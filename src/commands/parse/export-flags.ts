import { resolve } from 'node:path';
import { chooseDatasets, splitKinds, type AnyJob, type Dataset } from '../../dataset/dataset.ts';
import { loadDatasets } from '../../dataset/load-jobs.ts';
import { UsageError } from '../../errors.ts';
import { csv } from '../../export/csv-file.ts';
import type { ExportedTable } from '../../export/export.ts';
import { parquet } from '../../export/parquet-file.ts';
import type { FileFormat } from '../../export/row-file.ts';
import { tablesOf } from '../../export/tables-of.ts';
import { parseRange, type Range } from '../../range.ts';
import type { Invocation } from '../command.ts';
import { programName } from '../../program-name.ts';

export interface ExportFlags {
  readonly from: string;
  readonly to: string;
  readonly out: string;
  readonly only?: readonly string[];
  readonly format: string;
}

/** What an export is asked for. */
interface ExportWanted {
  readonly range: Range;
  readonly format: FileFormat;
  readonly tables: readonly ExportedTable[];
  readonly directory: string;
  /** What was chosen and cannot be exported, and why; undefined where nothing is. */
  readonly leftOut: string | undefined;
}

/** @throws UsageError where nothing that was chosen has rows of a time */
export async function parseExport({ config, now }: Invocation, flags: ExportFlags): Promise<ExportWanted> {
  const range = parseRange(flags.from, flags.to, now);
  const format = formatOf(flags.format);
  const { streams, leftOut } = streamsAmong(
    chooseDatasets(flags.only ?? config.datasets, await loadDatasets()),
  );
  return { range, format, tables: tablesOf(streams), directory: resolve(flags.out), leftOut };
}

/** What has rows of a time; the others are named. @throws UsageError where nothing is left */
function streamsAmong(chosen: readonly Dataset<AnyJob>[]): {
  readonly streams: readonly Dataset[];
  readonly leftOut: string | undefined;
} {
  const { streams, collections } = splitKinds(chosen);
  if (collections.length === 0) return { streams, leftOut: undefined };
  const names = collections.map(({ name }) => name).join(', ');
  const leftOut = `lists and look-ups have no range of time to export: ${names}`;
  if (streams.length > 0) return { streams, leftOut };
  const hint = `${programName} sql --csv "select * from …" writes such a table out whole.`;
  throw new UsageError(leftOut, { hint });
}

function formatOf(name: string): FileFormat {
  const format = [parquet, csv].find((known) => known.name === name);
  if (format === undefined) throw new UsageError(`--format is parquet or csv, not "${name}"`);
  return format;
}
