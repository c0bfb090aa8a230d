import { SingleBar } from 'cli-progress';
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

export function createProgress(options: ProgressOptions): Progress {
  return options.terminal ? bar(options) : lines(options);
}

function bar({ seconds, requests, now }: ProgressOptions): Progress {
  const started = now();
  let rows = 0;
  let done = 0;
  const display = new SingleBar({
    format: '{bar} {percentage}%  {rows} rows  {rate} rows/s  {requests} requests  {left} left',
    hideCursor: true,
    clearOnComplete: false,
    forceRedraw: true,
  });
  const payload = () => {
    const elapsed = Math.max(0.001, (now() - started) / 1000);
    const left = done === 0 ? '?' : formatDuration((elapsed * (seconds - done)) / done);
    return { rows, rate: Math.round(rows / elapsed), requests: requests(), left };
  };
  display.start(Math.max(1, seconds), 0, payload());
  return {
    onPage(event) {
      rows += event.records;
      done += event.seconds;
      display.update(done, payload());
    },
    end() {
      display.update(done, payload());
      display.stop();
    },
  };
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
