import type { Terminal } from '../../../terminal/terminal.ts';
import { formatNumber } from '../format-number.ts';
import { knownPercentOf, type Course } from './course.ts';
import { formatPercent, overallWords } from './overall-words.ts';

interface BarsOptions {
  readonly datasets: readonly string[];
  readonly course: Course;
  /** Requests that may be sent at most. */
  readonly allowed: number | undefined;
  readonly terminal: Terminal;
}

const REDRAW_MS = 500;
const LONGEST_BAR = 40;

/** Draws a bar for each dataset and one in total at the foot of the terminal; the result ends it. */
export function drawBars(options: BarsOptions): () => void {
  const draw = () => options.terminal.stand(barLines(options, options.terminal.columns ?? 80));
  draw();
  const timer = setInterval(draw, REDRAW_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    draw();
    options.terminal.release();
  };
}

/** The lines of all bars, each shorter than `columns`. */
function barLines({ datasets, course, allowed }: BarsOptions, columns: number): string[] {
  const all = course.all();
  const bars = datasets.map((name) => {
    const progress = course.of(name);
    const bringer = course.comesWith(name);
    const isBrought = bringer !== undefined && progress.rows === 0;
    const words = isBrought ? `with ${bringer}` : `${formatNumber(progress.rows)} rows`;
    return { name, percent: isBrought ? undefined : knownPercentOf(progress), words };
  });
  bars.push({ name: 'in all', percent: all.percent, words: `${formatNumber(all.rows)} rows` });
  const longestName = Math.max(...bars.map(({ name }) => name.length));
  const longestWords = Math.max(...bars.map(({ words }) => words.length));
  // Between name, bar, percentage and words are spaces; the last column stays free, where terminals differ.
  const size = Math.min(LONGEST_BAR, columns - longestName - longestWords - ' '.length * 3 - 6 - 1);
  const lines = bars.map(({ name, percent, words }) => {
    const parts = [name.padEnd(longestName), bar(percent ?? 0, size), formatPercent(percent), words];
    return parts
      .filter((part) => part !== '')
      .join(' ')
      .slice(0, columns - 1);
  });
  return [...lines, overallWords(all, allowed, columns - 1)];
}

function bar(percent: number, size: number): string {
  if (size < 5) return '';
  const done = Math.floor((size * percent) / 100);
  return '='.repeat(done) + '-'.repeat(size - done);
}
