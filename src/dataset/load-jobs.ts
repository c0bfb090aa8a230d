import { splitKinds, type AnyJob, type Dataset } from './dataset.ts';
import { folder } from './jobs-folder.ts';

/** Every dataset that is a stream of time. */
export async function loadJobs(): Promise<Dataset[]> {
  return splitKinds(await loadDatasets()).streams;
}

/** Every dataset: one for each file in `jobs/`, with the file's name. */
export async function loadDatasets(): Promise<Dataset<AnyJob>[]> {
  return [...(await folder.load())].map(([name, module]) => ({ name, job: jobOf(name, module) }));
}

/** The names of all datasets, without loading them. */
export function datasetNames(): Promise<readonly string[]> {
  return folder.names();
}

function jobOf(name: string, module: object): AnyJob {
  const job: unknown = 'default' in module ? module.default : undefined;
  if (!isJob(job))
    throw new TypeError(
      `jobs/${name} must have "export default defineJob({ … })" or "defineCollection({ … })"`,
    );
  return job;
}

function isJob(value: unknown): value is AnyJob {
  if (typeof value !== 'object' || value === null || !('kind' in value)) return false;
  return value.kind === 'stream' || value.kind === 'collection';
}
