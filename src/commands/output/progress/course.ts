import { isNearlyUsedUp } from '../../../budget/is-nearly-used-up.ts';
import type { PageEvent } from '../../../crawl/crawl-context.ts';
import type { Range } from '../../../range.ts';
import type { Work } from '../../../crawl/streams/missing.ts';
import { countProgress, percentOf, type Progress } from '../../../status/progress.ts';
import { createForecast, type Task } from './forecast.ts';

/**
 * What a run waits for: a slot of the budget, the server's answer, the database, the end of a pause that the server asked
 * for, room on the disk, or another process that reads the rest.
 */
export type WaitsFor = 'budget' | 'server' | 'database' | 'pause' | 'disk' | 'process';

export interface CourseOptions {
  readonly tasks: readonly Task[];
  /** What the run wants of each dataset, also what was covered before. */
  readonly work: readonly Work[];
  /** Requests sent so far. */
  readonly requests: () => number;
  /** Responses that are being read or written now. */
  readonly workedOn: () => number;
  /** What nothing can be read for, however much is left. */
  readonly blockedBy: () => WaitsFor | undefined;
  /** Requests a second of the plan. */
  readonly rps: number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** What has happened so far in a run, whatever is made of it. */
export interface Course {
  onPage(event: PageEvent): void;
  /** Replaces what is left of a dataset, where more than pages has covered it. */
  replaceLeft(dataset: string, missing: readonly Range[]): void;
  of(dataset: string): Progress & { readonly rows: number };
  /** The dataset whose pages bring this one's rows, while they do: until then nothing of it is done. */
  comesWith(dataset: string): string | undefined;
  all(): Overall;
}

export interface Overall {
  /** Undefined before anybody knows how much there is. */
  readonly percent: number | undefined;
  readonly rows: number;
  /** Rows a second since the start. */
  readonly rate: number;
  readonly requests: number;
  /** Seconds since the start. */
  readonly elapsed: number;
  /** Seconds; undefined before anything is known. */
  readonly left: number | undefined;
  /** Undefined where nothing is left to be read. */
  readonly waitsFor: WaitsFor | undefined;
}

interface RecentPage {
  readonly at: number;
  readonly ms: number;
  readonly writingMs: number;
  readonly requests: number;
}

/** What a run waits for is judged by the last so many milliseconds. */
const RECENT_MS = 10_000;

export function followCourse(options: CourseOptions): Course {
  const { tasks, work, requests, now } = options;
  const started = now();
  const count = countProgress(work);
  const forecast = createForecast(tasks, (dataset) => count.left(dataset));
  const rows = new Map(tasks.map(({ dataset }) => [dataset, 0]));
  const recent: RecentPage[] = [];
  const isWhole = ({ done, total }: Progress) => done >= total;
  const comesWith = (dataset: string) => {
    const bringer = tasks.find((task) => task.dataset === dataset)?.bringer;
    const isOpen = bringer !== undefined && !isWhole(count.of(bringer)) && !isWhole(count.of(dataset));
    return isOpen ? bringer : undefined;
  };
  return {
    comesWith,
    onPage({ dataset, scope, records, unfit = [], completed, ms, writingMs }) {
      const at = now();
      forecast.learn(dataset, records, completed, at);
      count.complete(dataset, scope, completed);
      const before = rows.get(dataset);
      if (before !== undefined) rows.set(dataset, before + records - unfit.length);
      recent.push({ at, ms, writingMs, requests: requests() });
      while ((recent[0]?.at ?? at) < at - RECENT_MS) recent.shift();
    },
    replaceLeft: (dataset, missing) => count.replaceLeft(dataset, missing),
    of: (dataset) => ({ rows: rows.get(dataset) ?? 0, ...count.of(dataset) }),
    all() {
      const elapsed = Math.max(0.001, (now() - started) / 1000);
      const sum = [...rows.values()].reduce((total, more) => total + more, 0);
      const percent = knownPercentOf(count.all((dataset) => comesWith(dataset) === undefined));
      return {
        percent,
        rows: sum,
        rate: Math.round(sum / elapsed),
        requests: requests(),
        elapsed,
        left: forecast.left(now()),
        waitsFor: percent === 100 ? undefined : waitsFor(options, recent, now()),
      };
    },
  };
}

/** Of a dataset whose pools are not known yet nobody can say how much it is. */
export function knownPercentOf(progress: Progress): number | undefined {
  return progress.total === 0 ? undefined : percentOf(progress);
}

/** The budget where it is nearly used up, else whoever takes more of the time of all pages, or holds up the next one. */
function waitsFor(
  { rps, requests, workedOn, blockedBy }: CourseOptions,
  pages: readonly RecentPage[],
  now: number,
): WaitsFor {
  const blocked = blockedBy();
  if (blocked !== undefined) return blocked;
  const recent = pages.filter(({ at }) => at >= now - RECENT_MS);
  const [first] = recent;
  if (first === undefined) return workedOn() > 0 ? 'database' : 'server';
  const ms = Math.max(1, now - first.at);
  if (isNearlyUsedUp(requests() - first.requests, ms, rps)) return 'budget';
  const more = recent.reduce((sum, page) => sum + page.ms - page.writingMs, 0);
  return more > 0 ? 'server' : 'database';
}
