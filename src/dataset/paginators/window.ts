import { BadResponseError } from '../../errors.ts';
import {
  type Echo,
  type Page,
  type Step,
  type WholeSecondsPaginator,
  requireInside,
  nextLength,
} from './paginator.ts';
import { formatRange, type Range } from '../../range.ts';

export interface WindowCursor {
  /** The next second to complete; everything before it in the span is done. */
  readonly at: number;
  readonly to: number;
  /** Seconds of the requested window, `[at, at + length)`. */
  readonly length: number;
}

/**
 * Reads a span in ascending windows, for endpoints that take `start_utime`, `end_utime` and `limit`, but return no
 * reliable order. So a full page only shows that its window was too wide, and a narrower one from the same second is
 * requested. A short page completes its window, and its density decides the width of the next one. A single second that
 * fills the largest page is saturated. `offsets`: true if the endpoint also takes `offset`.
 */
export function window({
  maxSize = 1000,
  offsets = false,
}: { readonly maxSize?: number; readonly offsets?: boolean } = {}): WholeSecondsPaginator<WindowCursor> {
  return {
    ofSecond: (second, { offset, limit }) =>
      offset > 0 && !offsets
        ? undefined
        : { start_utime: second, end_utime: second, limit, ...(offsets && { offset }) },
    maxSize,
    wholeSeconds: true,
    start: ({ from, to }) => ({ at: from, to, length: to - from }),
    request: (cursor, size) => {
      const { from, to } = windowOf(cursor);
      // A second cannot be split, so the largest page is requested.
      return { start_utime: from, end_utime: to - 1, limit: to - from === 1 ? maxSize : size };
    },
    next: (cursor, page) => {
      requireAsked(windowOf(cursor), page);
      return page.positions.length < page.size ? goOn(cursor, page) : narrow(cursor, page);
    },
  };
}

function windowOf({ at, to, length }: WindowCursor): Range {
  return { from: at, to: Math.min(at + length, to) };
}

/** Requires that the window in the response, and the times of its rows, are those of the request. */
function requireAsked(asked: Range, { positions, echo }: Page): void {
  if (echo !== undefined) requireEcho(asked, echo);
  for (const position of positions) requireInside(position, asked);
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
  const next = nextLength({ length, seconds: length, rows: page.positions.length, size: page.size });
  return { completed, cursor: from(completed.to, cursor.to, Math.floor(next)) };
}

/**
 * The page holds as many rows of the window as fit, usually the newest. If they are all in its later half,
 * the next window is everything before the earliest one; otherwise it is the first half.
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
