import type { Crawl } from '../../app.ts';
import { systemClock } from '../../clock.ts';
import { missingOf, type Reach } from '../../crawl/streams/backfill.ts';
import { readableNow } from '../../crawl/streams/streams.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { readDensity } from '../../db/read/activity.ts';
import { readProfiles } from '../../db/read/estimates.ts';
import { lengthOf, type Range } from '../../range.ts';
import type { Task } from './forecast.ts';
import { createProgress, type Progress, type ProgressOptions } from './progress.ts';

interface Shown {
  readonly crawl: Crawl;
  readonly datasets: readonly Dataset[];
  readonly reach: Reach;
  readonly range: Range;
  readonly style: ProgressOptions['style'];
  readonly rps: number;
  readonly workers: number;
  /** The cap on requests, where there is one. */
  readonly allowed?: number | undefined;
}

/** Transactions that traces bring and blocks prove are hardly asked for. */
const BROUGHT = 0.1;

/** Progress of a run that covers what is missing of a range; what earlier runs read and what `plan` saw is known to it. */
export async function openProgress(shown: Shown): Promise<Progress> {
  const { crawl, datasets, reach, range, ...options } = shown;
  const { database, api } = crawl.context;
  const missing = await missingOf(crawl.context, datasets, range, reach.watermark);
  const profiles = await readProfiles(database, range);
  const names = new Set(datasets.map(({ name }) => name));
  const isBrought = (name: string) => name === 'transactions' && names.has('traces') && names.has('blocks');
  const tasks: Task[] = [];
  for (const { name, job } of datasets)
    tasks.push({
      dataset: name,
      missing: missing.get(name) ?? [],
      profile: profiles.get(name),
      before: await readDensity(database, name, range),
      pageSize: job.paginator.maxSize,
      share: isBrought(name) ? BROUGHT : 1,
    });
  const parts = await readableNow(database, datasets, range, reach.watermark);
  const whole = parts.map(([{ name }, part]) =>
    Math.max(lengthOf(missing.get(name) ?? []), lengthOf([part])),
  );
  return createProgress({
    ...options,
    tasks,
    seconds: whole.reduce((sum, seconds) => sum + seconds, 0),
    allowed: options.allowed,
    requests: () => api.stats.requests,
    now: () => systemClock.monotonic(),
    write: (text) => process.stdout.write(text),
  });
}

/** Bars for people, lines for programs. */
export function progressStyle(quiet = false): ProgressOptions['style'] {
  if (quiet) return 'quiet';
  return process.stdout.isTTY ? 'bars' : 'lines';
}
