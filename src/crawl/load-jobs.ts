import { readdir } from 'node:fs/promises';
import type { Dataset } from '../dataset.ts';
import type { Job } from '../job.ts';

const FOLDER = new URL('../../jobs/', import.meta.url);

/** Every dataset: one for each file in `jobs/`, named like the file. There is no list to extend. */
export async function loadJobs(): Promise<Dataset[]> {
  const files = (await readdir(FOLDER)).filter((file) => /\.[jt]s$/.test(file)).sort();
  return Promise.all(
    files.map(async (file) => ({ name: file.replace(/\.[jt]s$/, ''), job: await loadJob(file) })),
  );
}

async function loadJob(file: string): Promise<Job> {
  const module: unknown = await import(new URL(file, FOLDER).href);
  const job =
    typeof module === 'object' && module !== null && 'default' in module ? module.default : undefined;
  if (!isJob(job)) throw new TypeError(`jobs/${file} must have "export default defineJob({ … })"`);
  return job;
}

function isJob(value: unknown): value is Job {
  return typeof value === 'object' && value !== null && 'read' in value && 'paginator' in value;
}
