import type { Crawl } from '../../../app/open-crawl.ts';
import { systemClock } from '../../../clock.ts';
import type { Config } from '../../../settings/config.ts';
import { bringerOf, neededShareOf } from '../../../crawl/plan/brought.ts';
import type { Dataset } from '../../../dataset/dataset.ts';
import { readDensity } from '../../../db/read/activity.ts';
import { readProfiles } from '../../../db/read/estimates.ts';
import type { Range } from '../../../range.ts';
import { readWork } from '../../../crawl/streams/missing.ts';
import { terminal } from '../../../terminal/terminal.ts';
import { drawBars } from './bars.ts';
import { followCourse, type Course, type WaitsFor } from './course.ts';
import type { Task } from './forecast.ts';
import { writeLines } from './lines.ts';

/** Bars at the foot of a terminal, lines elsewhere, or nothing. */
export type ProgressStyle = 'bars' | 'text' | 'json' | 'quiet';

interface Shown {
  readonly crawl: Crawl;
  readonly datasets: readonly Dataset[];
  readonly range: Range;
  readonly watermark: number;
  readonly style: ProgressStyle;
  readonly rps: number;
  /** The cap on requests, where there is one. */
  readonly allowed?: number | undefined;
}

/** Progress that is shown page by page, until it is ended. */
interface ShownProgress extends Pick<Course, 'replaceLeft'> {
  end(): void;
}

/** Shows the progress of a run that covers what is missing of a range; it knows what earlier runs read and what `plan` saw. */
export async function openProgress(shown: Shown): Promise<ShownProgress> {
  const { crawl, datasets, range, watermark, style, allowed } = shown;
  if (style === 'quiet') return { replaceLeft: () => undefined, end: () => undefined };
  const { database, api } = crawl.context;
  const course = followCourse({
    ...shown,
    tasks: await readTasks(shown),
    work: await readWork(database, datasets, range, watermark),
    requests: () => api.stats.requests,
    workedOn: () => api.inFlight.workedOn,
    blockedBy: () => blockedBy(crawl),
    now: () => systemClock.monotonic(),
  });
  crawl.subscribe((event) => course.onPage(event));
  const names = datasets.map(({ name }) => name);
  const replaceLeft: Course['replaceLeft'] = (dataset, missing) => course.replaceLeft(dataset, missing);
  const about = { datasets: names, course, allowed };
  const write = (line: string) => void process.stderr.write(line);
  const end =
    style === 'bars' ? drawBars({ ...about, terminal }) : writeLines({ ...about, format: style, write });
  return { replaceLeft, end };
}

function blockedBy({ context: { api, disk } }: Crawl): WaitsFor | undefined {
  if (disk.isFull) return 'disk';
  if (api.pausedUntil() !== undefined) return 'pause';
  return api.inFlight.others.isIdle ? 'process' : undefined;
}

async function readTasks({ crawl, datasets, range }: Shown): Promise<Task[]> {
  const { database } = crawl.context;
  const profiles = await readProfiles(database, range);
  const tasks: Task[] = [];
  for (const { name, job } of datasets)
    tasks.push({
      dataset: name,
      profile: profiles.get(name),
      before: await readDensity(database, name, range),
      pageSize: job.paginator.maxSize,
      share: neededShareOf(name, datasets).likely,
      bringer: bringerOf(name, datasets),
    });
  return tasks;
}

/** Bars for people; what goes elsewhere is for people too, unless `LOG_FORMAT=json` says otherwise. */
export function progressStyle(config: Config, quiet = false): ProgressStyle {
  if (quiet) return 'quiet';
  if (config.progressFormat === 'json') return 'json';
  return terminal.columns === undefined ? 'text' : 'bars';
}
