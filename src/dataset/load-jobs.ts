import { readdir, readFile } from 'node:fs/promises';
import { splitKinds, type AnyJob, type Dataset } from './dataset.ts';

const FOLDER = new URL('../../jobs/', import.meta.url);

/** Every dataset that is a stream of time. */
export async function loadJobs(): Promise<Dataset[]> {
  return splitKinds(await loadDatasets()).streams;
}

/** Every dataset: one for each file in `jobs/`, named like the file. There is no list to extend. */
export async function loadDatasets(): Promise<Dataset<AnyJob>[]> {
  return Promise.all(
    (await filesOfJobs()).map(async (file) => ({
      name: nameOf(file),
      job: await loadJob(file),
    })),
  );
}

/** The names of all datasets, without loading them. */
export async function datasetNames(): Promise<string[]> {
  return (await filesOfJobs()).map(nameOf);
}

/** What tells one state of `jobs/` from another: far cheaper than loading them. */
export async function readJobs(): Promise<string[]> {
  return Promise.all((await filesOfJobs()).map((file) => readFile(new URL(file, FOLDER), 'utf8')));
}

const nameOf = (file: string): string => file.replace(/\.[jt]s$/, '');

async function filesOfJobs(): Promise<string[]> {
  return (await readdir(FOLDER)).filter((file) => /\.[jt]s$/.test(file)).sort();
}

async function loadJob(file: string): Promise<AnyJob> {
  const module: unknown = await import(new URL(file, FOLDER).href);
  const job =
    typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  if (!isJob(job))
    throw new TypeError(
      `jobs/${file} must have "export default defineJob({ … })" or "defineCollection({ … })"`,
    );
  return job;
}

function isJob(value: unknown): value is AnyJob {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  return value.kind === 'stream' || value.kind === 'collection';
}
