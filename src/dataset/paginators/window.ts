import { BadResponseError } from '../../errors.ts';
import type { Echo, Page, Step, WholeSecondsPaginator } from '../paginator.ts';
import { formatRange, formatTime, isInside, type Range } from '../../range.ts';

/** How full the next page should be: a page that comes out full was asked for in vain. */
const AIM = 0.75;
/** The most that a window grows at once: a quiet stretch does not promise that the next one is quiet. */
const GROWTH = 8;

export interface WindowCursor {
  /** The next second to be completed; all before it in the span is done. */
  readonly at: number;
  readonly to: number;
  /** Seconds of the window that is asked for, `[at, at + length)`. */
  readonly length: number;
}

/**
 * Reads a span in ascending windows, for endpoints that take `start_utime`, `end_utime` and `limit` only: no offset and
 * no sort, so a full page tells nothing but that its window was too wide, and a narrower one is asked for from the same
 * second on. A short page completes its window, and its density tells how wide the next one may be. A single second
 * that fills a page of the full limit is saturated.
 */
export function window({
  maxSize = 1000,
}: { readonly maxSize?: number } = {}): WholeSecondsPaginator<WindowCursor> {
  return {
    maxSize,
    wholeSeconds: true,
    start: ({ from, to }) => ({ at: from, to, length: to - from }),
    request: (cursor, size) => {
      const { from, to } = windowOf(cursor);
      // A second cannot be split, so it is asked for with all that one page may hold.
      return { start_utime: from, end_utime: to - 1, limit: to - from === 1 ? maxSize : size };
    },
    next: (cursor, page) => {
      requireInside(windowOf(cursor), page);
      return page.positions.length < page.size ? goOn(cursor, page) : narrow(cursor, page);
    },
  };
}

function windowOf({ at, to, length }: WindowCursor): Range {
  return { from: at, to: Math.min(at + length, to) };
}

/** A server that answers another window than the one asked for would make empty seconds look covered. */
function requireInside(asked: Range, { positions, echo }: Page): void {
  if (echo !== undefined) requireEcho(asked, echo);
  for (const { utime, id } of positions) {
    if (isInside(utime, asked)) continue;
    throw new BadResponseError(
      `row ${id} of ${formatTime(utime)} lies outside of the window that was asked for`,
    );
  }
}

function requireEcho(asked: Range, echo: Echo): void {
  const from = echo.start_utime ?? asked.from;
  const to = (echo.end_utime ?? asked.to - 1) + 1;
  if (from === asked.from && to === asked.to) return;
  throw new BadResponseError(
    `asked for ${formatRange(asked)}, the response says that it is for ${formatRange({ from, to })}`,
  );
}

function goOn(cursor: WindowCursor, page: Page): Step<WindowCursor> {
  const completed = windowOf(cursor);
  const length = completed.to - completed.from;
  const factor = Math.min(GROWTH, (AIM * page.size) / Math.max(1, page.positions.length));
  return { completed, cursor: from(completed.to, cursor.to, Math.floor(length * factor)) };
}

/**
 * The page holds as many rows of the window as fit, the newest as a rule. Where they crowd its later part, all before
 * the earliest of them is the next window; else the first half.
 */
function narrow(cursor: WindowCursor, { positions }: Page): Step<WindowCursor> {
  const { from: at, to } = windowOf(cursor);
  if (to - at === 1) {
    const saturated = { from: at, to };
    return { completed: undefined, saturated, cursor: from(to, cursor.to, 1) };
  }
  const half = Math.floor((to - at) / 2);
  const before = Math.min(...positions.map(({ utime }) => utime)) - at;
  return { completed: undefined, cursor: from(at, cursor.to, before > 0 ? Math.min(half, before) : half) };
}

function from(at: number, to: number, length: number): WindowCursor | undefined {
  return at < to ? { at, to, length: Math.max(1, length) } : undefined;
}
