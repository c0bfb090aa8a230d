import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BadResponseError } from '../../../src/errors.ts';
import type { Page, Paginator, Position } from '../../../src/dataset/paginators/paginator.ts';
import { window, type WindowCursor } from '../../../src/dataset/paginators/forward.ts';
import type { Range } from '../../../src/range.ts';
import { runs } from '../../support/thorough.ts';

const ORIGIN = 1_760_000_000;

function row(time: number, id: number): Position {
  return { utime: ORIGIN + time, lt: String(id), id: `row ${id}` };
}

interface Crawl {
  readonly ids: ReadonlySet<string>;
  readonly requests: number;
  readonly full: number;
  readonly completed: readonly Range[];
  readonly saturated: readonly Range[];
}

interface Sizes {
  readonly maxSize?: number;
  readonly size?: number;
}

/** Reads a range from a server that gives the newest rows of a window, and checks the paginator's contract. */
function crawl(rows: readonly Position[], span: Range, sizes: Sizes = {}): Crawl {
  const { maxSize = 1000, size = maxSize } = sizes;
  const paginator: Paginator<WindowCursor> = window({ maxSize });
  const newestFirst = [...rows].sort((a, b) => b.utime - a.utime);
  const crawled = { ids: new Set<string>(), requests: 0, full: 0 };
  const completed: Range[] = [];
  const saturated: Range[] = [];
  let done = span.from;
  let cursor: WindowCursor | undefined = paginator.start(span);
  while (cursor !== undefined) {
    const asked = JSON.parse(JSON.stringify(cursor)) as WindowCursor;
    const { start_utime, end_utime, limit } = paginator.request(asked, size);
    expect(limit).toBeLessThanOrEqual(maxSize);
    const [from, to] = [Number(start_utime), Number(end_utime)];
    const positions = newestFirst.filter(({ utime }) => utime >= from && utime <= to).slice(0, limit);
    const page: Page = { size: limit, positions, echo: { start_utime: from, end_utime: to } };
    const step = paginator.next(asked, page);
    crawled.requests += 1;
    crawled.full += positions.length === limit ? 1 : 0;
    for (const { id } of positions) crawled.ids.add(id);
    for (const part of [step.completed, step.saturated]) {
      if (part === undefined) continue;
      expect(part.from).toBe(done);
      done = part.to;
    }
    if (step.completed) completed.push(step.completed);
    if (step.saturated) saturated.push(step.saturated);
    cursor = step.cursor;
  }
  expect(done).toBe(span.to);
  return { ...crawled, completed, saturated };
}

function range(from: number, to: number): Range {
  return { from: ORIGIN + from, to: ORIGIN + to };
}

describe('the window paginator', () => {
  it('reads a sparse range with one request', () => {
    const rows = Array.from({ length: 999 }, (_, index) => row(index * 60, index));
    expect(crawl(rows, range(0, 60_000))).toMatchObject({ requests: 1, completed: [range(0, 60_000)] });
  });

  it('requests only with a limit and a closed window', () => {
    const paginator = window();
    expect(paginator.request(paginator.start(range(0, 3600)), 100)).toEqual({
      start_utime: ORIGIN,
      end_utime: ORIGIN + 3599,
      limit: 100,
    });
  });

  it('reads a dense range with pages that are nearly full', () => {
    const rows = Array.from({ length: 100_000 }, (_, index) => row(Math.floor(index / 20), index));
    const { ids, requests } = crawl(rows, range(0, 5000));
    expect(ids.size).toBe(100_000);
    expect(requests).toBeLessThan(160);
  });

  it('finds a burst at the end of a quiet day in few requests', () => {
    const rows = Array.from({ length: 2000 }, (_, index) => row(86_000 + (index % 200), index));
    const { ids, requests } = crawl(rows, range(0, 86_400));
    expect(ids.size).toBe(2000);
    expect(requests).toBeLessThan(25);
  });

  it('reads a page that may have been cut again in two halves', () => {
    const paginator = window();
    const positions = Array.from({ length: 60 }, (_, index) => row(10 + index * 60, index));
    const doubted = { size: positions.length, isDoubted: true, positions };
    const { completed, cursor } = paginator.next(paginator.start(range(0, 3600)), doubted);
    expect(completed).toBeUndefined();
    const first = positions.filter(({ utime }) => utime < ORIGIN + 1800);
    const step = paginator.next(cursor!, { size: 1000, positions: first });
    expect(step.completed).toEqual(range(0, 1800));
    expect(paginator.request(step.cursor!, 1000)).toMatchObject({
      start_utime: ORIGIN + 1800,
      end_utime: ORIGIN + 3599,
    });
  });

  it('names a second that alone fills a page, and reads what surrounds it', () => {
    const crowd = Array.from({ length: 1000 }, (_, index) => row(50, index));
    const others = Array.from({ length: 100 }, (_, index) => row(index, 5000 + index)).filter(
      ({ utime }) => utime !== ORIGIN + 50,
    );
    const { ids, saturated } = crawl([...crowd, ...others], range(0, 100));
    expect(saturated).toEqual([range(50, 51)]);
    for (const { id } of others) expect(ids).toContain(id);
  });

  it('requests a single second with the full limit, however small pages have become', () => {
    const rows = Array.from({ length: 999 }, (_, index) => row(7, index));
    const { ids, saturated } = crawl(rows, range(0, 20), { size: 10 });
    expect(ids.size).toBe(999);
    expect(saturated).toEqual([]);
  });

  it('reads every row of any stream, and completes its range from the start', () => {
    const stream = fc.array(fc.tuple(fc.nat(400), fc.integer({ min: 1, max: 30 })), { maxLength: 60 });
    const sizes = fc.tuple(fc.integer({ min: 2, max: 40 }), fc.integer({ min: 2, max: 40 }));
    fc.assert(
      fc.property(stream, sizes, (bursts, [size, most]) => {
        const times = bursts.flatMap(([time, count]) => Array.from({ length: count }, () => time));
        const rows = times.map(row);
        const maxSize = Math.max(size, most);
        const { ids, completed, saturated } = crawl(rows, range(0, 401), { maxSize, size });
        for (const { utime, id } of rows) {
          const inCompleted = completed.some((part) => utime >= part.from && utime < part.to);
          if (inCompleted) expect(ids).toContain(id);
        }
        for (const part of saturated) {
          expect(part.to - part.from).toBe(1);
          expect(rows.filter(({ utime }) => utime === part.from).length).toBeGreaterThanOrEqual(maxSize);
        }
      }),
      { numRuns: runs(300) },
    );
  });

  it('refuses a response for another window than the requested one', () => {
    const paginator = window();
    const cursor = paginator.start(range(0, 100));
    const page = { size: 10, positions: [] };
    const given = (echo: object) => () => paginator.next(cursor, { ...page, echo });
    expect(given({ start_utime: ORIGIN - 1, end_utime: ORIGIN + 99 })).toThrow(BadResponseError);
    expect(given({ end_utime: ORIGIN + 98 })).toThrow(/response says/);
    expect(given({})).not.toThrow();
    expect(given({ start_utime: ORIGIN, end_utime: ORIGIN + 99 })).not.toThrow();
  });

  it('refuses rows outside the window', () => {
    const paginator = window();
    const cursor = paginator.start(range(0, 100));
    for (const time of [-1, 100]) {
      expect(() => paginator.next(cursor, { size: 10, positions: [row(time, 1)] })).toThrow(BadResponseError);
    }
  });
});
