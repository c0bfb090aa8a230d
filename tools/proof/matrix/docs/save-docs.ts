import { writeFile } from 'node:fs/promises';
import { loadDatasets } from '../../../../src/dataset/load-jobs.ts';
import { streamTables } from '../cells.ts';
import { readLastRun } from './last-run.ts';
import { matrixPage } from './limits.ts';

const PAGE = 'docs/verification-matrix.md';

/** Texts of the docs about the last run of the matrix, by path. */
export async function docsOfLastRun(): Promise<Readonly<Record<string, string>>> {
  const tables = (await streamTables()).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { [PAGE]: matrixPage(await readLastRun(), tables, await uncheckedNames()) };
}

/** Datasets that are never verified: collections, and streams that declare no check. */
async function uncheckedNames(): Promise<string[]> {
  const all = await loadDatasets();
  const isUnchecked = ({ job }: (typeof all)[number]): boolean =>
    job.kind !== 'stream' || Object.keys(job.checks).length === 0;
  return all.filter(isUnchecked).map(({ name }) => name);
}

export async function saveDocs(): Promise<void> {
  for (const [path, text] of Object.entries(await docsOfLastRun())) await writeFile(path, text);
}
