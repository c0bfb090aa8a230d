import { MultiBar } from 'cli-progress';
import type { PageEvent } from '../crawl/crawler.ts';
import { formatDuration } from '../range.ts';

/** Told of each page; shows a bar on a terminal, JSON lines in a pipe. */
export interface Progress {
  onPage(event: PageEvent): void;
  end(): void;
}

interface ProgressOptions {
  /** Seconds of chain time to be read, over all datasets. */
  readonly seconds: number;
  readonly terminal: boolean;
  /** Requests sent so far. */
  readonly requests: () => number;
  /** Monotonic milliseconds. */
  readonly now: () => number;
  readonly write: (text: string) => void;
}

const LINE_EVERY_MS = 5000;

/** Columns for the longest words beside the bar. */
const WORDS = 68;

export function createProgress(options: ProgressOptions): Progress {
  return options.terminal ? bar(options) : lines(options);
}

function bar({ seconds, requests, now }: ProgressOptions): Progress {
  const started = now();
  let rows = 0;
  let done = 0;
  // Whatever ends this process, even SIGKILL, leaves a terminal with its cursor and its wrapping of lines. A single bar
  // of this library also restores a cursor position at its end, on top of what was logged since.
  const display = new MultiBar({
    format: '{bar} {percentage}%  {rows} rows  {rate} rows/s  {requests} requests  {left} left',
    barsize: barSize(process.stderr.columns),
    linewrap: true,
    gracefulExit: false,
    clearOnComplete: false,
    forceRedraw: true,
  });
  const payload = () => {
    const elapsed = Math.max(0.001, (now() - started) / 1000);
    const left = done === 0 ? '?' : formatDuration((elapsed * (seconds - done)) / done);
    return { rows, rate: Math.round(rows / elapsed), requests: requests(), left };
  };
  const line = display.create(Math.max(1, seconds), 0, payload());
  return {
    onPage(event) {
      rows += event.records;
      done += event.seconds;
      line.update(done, payload());
    },
    end() {
      line.update(done, payload());
      display.stop();
    },
  };
}

/** What the words beside the bar leave of a line of so many columns. */
function barSize(columns = 80): number {
  return Math.max(5, Math.min(40, columns - WORDS));
}

function lines({ seconds, requests, now, write }: ProgressOptions): Progress {
  const started = now();
  let rows = 0;
  let done = 0;
  let written = started;
  const line = () => {
    const elapsed = (now() - started) / 1000;
    const share = seconds === 0 ? 1 : done / seconds;
    const etaSeconds = done === 0 ? null : Math.round((elapsed * (seconds - done)) / done);
    const fields = {
      percent: Math.floor(share * 1000) / 10,
      rows,
      requests: requests(),
      seconds: Math.round(elapsed),
      etaSeconds,
    };
    write(`${JSON.stringify({ event: 'progress', ...fields })}\n`);
  };
  return {
    onPage(event) {
      rows += event.records;
      done += event.seconds;
      if (now() - written < LINE_EVERY_MS) return;
      written = now();
      line();
    },
    end: line,
  };
}
