import type { Crawl } from '../../app.ts';
import { systemClock } from '../../clock.ts';
import { neededShareOf } from '../../crawl/plan/brought.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { readDensity } from '../../db/read/activity.ts';
import { readProfiles } from '../../db/read/estimates.ts';
import type { Range } from '../../range.ts';
import { readWork } from '../../status/progress.ts';
import type { Task } from './forecast.ts';
import { createProgressDisplay, type ProgressDisplay, type ProgressOptions } from './progress.ts';

interface Shown {
  readonly crawl: Crawl;
  readonly datasets: readonly Dataset[];
  readonly range: Range;
  readonly watermark: number;
  readonly style: ProgressOptions['style'];
  readonly rps: number;
  readonly concurrency: number;
  /** The cap on requests, where there is one. */
  readonly allowed?: number | undefined;
}

/** Shows the progress of a run that covers what is missing of a range; it knows what earlier runs read and what `plan` saw. */
export async function openProgress(shown: Shown): Promise<ProgressDisplay> {
  const { crawl, datasets, range, watermark, ...options } = shown;
  const { database, api } = crawl.context;
  const profiles = await readProfiles(database, range);
  const tasks: Task[] = [];
  for (const { name, job } of datasets)
    tasks.push({
      dataset: name,
      profile: profiles.get(name),
      before: await readDensity(database, name, range),
      pageSize: job.paginator.maxSize,
      share: neededShareOf(name, datasets).likely,
    });
  const display = createProgressDisplay({
    ...options,
    tasks,
    work: await readWork(database, datasets, range, watermark),
    allowed: options.allowed,
    requests: () => api.stats.requests,
    now: () => systemClock.monotonic(),
    write: (text) => process.stdout.write(text),
  });
  crawl.subscribe((event) => display.onPage(event));
  return display;
}

/** Bars for people, lines for programs. */
export function progressStyle(quiet = false): ProgressOptions['style'] {
  if (quiet) return 'quiet';
  return process.stdout.isTTY ? 'bars' : 'lines';
}
