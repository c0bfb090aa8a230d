import { readFile, writeFile } from 'node:fs/promises';
import { loadDatasets } from '../../../../src/dataset/load-jobs.ts';
import { streamTables } from '../cells.ts';
import { readLastRun } from './last-run.ts';
import { limitsSection, matrixPage } from './limits.ts';

const PAGE = 'docs/verification-matrix.md';
const DOCS = 'docs/verification.md';
const SECTION = /(<!-- limits[^>]*-->\n)[\s\S]*?(<!-- end of limits -->)/;
const UNCHECKED = /(<!-- unchecked[^>]*-->\n)[\s\S]*?(<!-- end of unchecked -->)/;

/** Texts of the docs that speak of the last run of the matrix, by path. */
export async function docsOfLastRun(): Promise<Readonly<Record<string, string>>> {
  const run = await readLastRun();
  const tables = (await streamTables()).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const docs = await readFile(DOCS, 'utf8');
  if (!SECTION.test(docs) || !UNCHECKED.test(docs))
    throw new Error(`${DOCS} has no place for what verification cannot see`);
  const section = limitsSection(run, tables);
  const unchecked = `${(await uncheckedNames()).map((name) => `\`${name}\``).join(', ')}.`;
  return {
    [PAGE]: matrixPage(run, tables),
    [DOCS]: docs
      .replace(SECTION, (_, begin: string, end: string) => `${begin}\n${section}\n${end}`)
      .replace(UNCHECKED, (_, begin: string, end: string) => `${begin}\n${unchecked}\n\n${end}`),
  };
}

/** Datasets of which nothing is ever verified: collections, and streams that declare no check. */
async function uncheckedNames(): Promise<string[]> {
  const all = await loadDatasets();
  const isUnchecked = ({ job }: (typeof all)[number]): boolean =>
    job.kind !== 'stream' || Object.keys(job.checks).length === 0;
  return all.filter(isUnchecked).map(({ name }) => name);
}

export async function saveDocs(): Promise<void> {
  for (const [path, text] of Object.entries(await docsOfLastRun())) await writeFile(path, text);
}
