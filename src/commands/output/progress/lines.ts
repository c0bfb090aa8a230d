import type { Course } from './course.ts';
import { formatPercent, overallWords } from './overall-words.ts';

interface LinesOptions {
  readonly datasets: readonly string[];
  readonly course: Course;
  /** Requests that may be sent at most. */
  readonly allowed: number | undefined;
  readonly format: 'text' | 'json';
  readonly write: (line: string) => void;
}

const EVERY_MS = 5000;
/** Nothing cuts a line that goes to a file. */
const COLUMNS = 200;

/** Writes a line every few seconds, also while nothing comes; a run that is shorter leaves none. The result ends it. */
export function writeLines(options: LinesOptions): () => void {
  const { format, write } = options;
  const print = () => write(`${format === 'json' ? jsonLine(options) : textLine(options)}\n`);
  let began = false;
  const timer = setInterval(() => {
    began = true;
    print();
  }, EVERY_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    if (began) print();
  };
}

function textLine({ course, allowed }: LinesOptions): string {
  const all = course.all();
  return `progress ${formatPercent(all.percent)}  ${overallWords(all, allowed, COLUMNS)}`;
}

function jsonLine({ datasets, course, allowed }: LinesOptions): string {
  const { percent, rows, rate, requests, elapsed, left, waitsFor } = course.all();
  return JSON.stringify({
    event: 'progress',
    percent: percent ?? null,
    rows,
    rowsPerSecond: rate,
    requests,
    allowedRequests: allowed ?? null,
    seconds: Math.round(elapsed),
    etaSeconds: left === undefined ? null : Math.round(left),
    waitsFor: waitsFor ?? null,
    datasets: Object.fromEntries(datasets.map((dataset) => [dataset, course.of(dataset)])),
  });
}
