import { loadDatasets } from '../dataset/load-jobs.ts';
import { chooseDatasets, type AnyJob, type Dataset } from '../dataset/dataset.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import type { Invocation } from './command.ts';
import { formatOverview, formatSheet, sheetOf } from './output/datasets/sheet.ts';
import { HOUR } from '../range.ts';

/** `datasets [NAME]`: what can be crawled, and what it stores; needs neither database nor API. */
export async function datasets(
  { config, now }: Invocation,
  name: string | undefined,
  flags: { json?: boolean },
): Promise<ExitCode> {
  const all = await loadDatasets();
  const chosen = name === undefined ? all : [findDataset(name, all)];
  const hour = { from: now - 2 * HOUR, to: now - HOUR };
  const sheets = chosen.map((dataset) => sheetOf(dataset, hour, config.freshness));
  const [only] = sheets;
  if (flags.json === true) {
    console.log(JSON.stringify(name === undefined ? sheets : only, null, 2));
  } else if (name !== undefined && only !== undefined) {
    console.log(formatSheet(only));
  } else {
    console.log(formatOverview(sheets, config.freshness));
  }
  return EXIT.done;
}

/** The words `core` and `all` name groups: a sheet is of one dataset. */
function findDataset(name: string, all: readonly Dataset<AnyJob>[]): Dataset<AnyJob> {
  const [dataset, more] = chooseDatasets([name], all);
  if (dataset !== undefined && more === undefined && dataset.name === name) return dataset;
  throw new UsageError(`"${name}" names a group of datasets`, {
    hint: `Ask for one of ${all.map((each) => each.name).join(', ')}.`,
  });
}
