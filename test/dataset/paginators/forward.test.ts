import fc from 'fast-check';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { BadResponseError } from '../../../src/errors.ts';
import type { Params, Position, WholeSecondsPaginator } from '../../../src/dataset/paginators/paginator.ts';
import { forward, type ForwardCursor } from '../../../src/dataset/paginators/forward.ts';
import { lengthOf, without, type Range } from '../../../src/range.ts';
import { runs } from '../../support/thorough.ts';

const SPAN: Range = { from: 100, to: 140 };

/** A server that sorts by utime, and within a second by (lt, id) or, if `partial`, differently in each request. */
function createServer(rows: readonly Position[], order: 'total' | 'partial', seed = 1) {
  let state = seed;
  const random = () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
  return (params: Params): Position[] => {
    const number = (name: string, fallback: number) => Number(params[name] ?? fallback);
    const down = params['sort'] === 'desc' ? -1 : 1;
    const found = rows
      .filter(({ utime }) => utime >= number('start_utime', 0) && utime <= number('end_utime', Infinity))
      .filter(({ lt }) => Number(lt) >= number('start_lt', 0) && Number(lt) <= number('end_lt', Infinity))
      .map((row) => ({ row, tie: order === 'total' ? Number(row.lt) * 1e6 + Number(row.id) : random() }))
      .sort((a, b) => down * (a.row.utime - b.row.utime || a.tie - b.tie))
      .map(({ row }) => row);
    return found.slice(number('offset', 0), number('offset', 0) + number('limit', 100));
  };
}

interface Walk {
  readonly read: Set<string>;
  readonly completed: Range[];
  readonly saturated: Range[];
  readonly requests: Params[];
}

/** Walks the range to its end and checks after each step that every completed row was read. */
function walk(
  options: Parameters<typeof forward>[0],
  serve: (params: Params, request: number) => Position[],
  rows: readonly Position[],
): Walk {
  const paginator = forward(options);
  const result: Walk = { read: new Set(), completed: [], saturated: [], requests: [] };
  let at = SPAN.from;
  let cursor = paginator.start(SPAN);
  for (;;) {
    const params = paginator.request(cursor, options.maxSize ?? 1000);
    result.requests.push(params);
    expect(result.requests.length).toBeLessThan(20_000);
    const positions = serve(params, result.requests.length);
    for (const { id } of positions) result.read.add(id);
    const step = paginator.next(cursor, { size: params.limit, positions });
    const done = step.completed ?? step.saturated;
    if (done !== undefined) {
      expect(done.from).toBe(at);
      at = done.to;
    }
    if (step.completed !== undefined) result.completed.push(step.completed);
    if (step.saturated !== undefined) result.saturated.push(step.saturated);
    for (const { utime, id } of rows) {
      if (step.completed !== undefined && utime >= step.completed.from && utime < step.completed.to)
        expect(result.read).toContain(id);
    }
    if (step.cursor === undefined) break;
    cursor = step.cursor;
  }
  expect(at).toBe(SPAN.to);
  return result;
}

const anyRows = fc
  .array(
    fc.record({
      utime: fc.integer({ min: 95, max: 145 }),
      lt: fc.integer({ min: 1, max: 30 }),
      copies: fc.integer({ min: 1, max: 12 }),
    }),
    { maxLength: 25 },
  )
  .map((groups) =>
    groups.flatMap(({ utime, lt, copies }) =>
      Array.from({ length: copies }, () => ({ utime, lt: String(utime * 1000 + lt) })),
    ),
  )
  .map((rows): Position[] => rows.map((row, index) => ({ ...row, id: String(index) })));

const anySize = fc.integer({ min: 2, max: 12 });

describe('a forward walk', () => {
  test('reads every row of a total order, whatever is at the borders of its pages', () => {
    fc.assert(
      fc.property(anyRows, anySize, (rows, maxSize) => {
        const { completed } = walk({ order: 'total', maxSize }, createServer(rows, 'total'), rows);
        expect(lengthOf(completed)).toBe(40);
      }),
      { numRuns: runs(300) },
    );
  });

  test('reads every row of a partial order, or says which second is saturated', () => {
    fc.assert(
      fc.property(anyRows, anySize, fc.integer(), (rows, maxSize, seed) => {
        const { completed, saturated } = walk(
          { order: 'partial', maxSize },
          createServer(rows, 'partial', Math.abs(seed)),
          rows,
        );
        expect(without([SPAN], [...completed, ...saturated])).toEqual([]);
        expect(lengthOf(completed) + lengthOf(saturated)).toBe(40);
      }),
      { numRuns: runs(300) },
    );
  });

  test('that requests about a page at a time reads every row, and requests fewer seconds with a smaller page', () => {
    fc.assert(
      fc.property(anyRows, anySize, fc.integer({ min: 1, max: 20 }), (rows, maxSize, narrow) => {
        const { completed, saturated, requests } = walk(
          { order: 'partial', maxSize, narrow },
          createServer(rows, 'partial'),
          rows,
        );
        expect(without([SPAN], [...completed, ...saturated])).toEqual([]);
        expect(requests[0]).toMatchObject({ start_utime: 100, end_utime: 99 + narrow });
      }),
      { numRuns: runs(300) },
    );
    const paginator = forward({ order: 'partial', narrow: 20 });
    expect(paginator.request(paginator.start(SPAN), 500)).toMatchObject({ start_utime: 100, end_utime: 109 });
    // It begins with what a page holds as far as is known, but never with much more than without.
    const long = { from: 100, to: 10_000 };
    const lengths = [undefined, 0.5, 50, 1e6].map(
      (pageSeconds) =>
        Number(paginator.request(paginator.start(long, { pageSeconds }), 1000)['end_utime']) - 99,
    );
    expect(lengths).toEqual([20, 1, 45, 160]);
  });

  test('of a total order continues within a second, so none of its datasets may be read a second time', () => {
    const [total, partial] = [forward({ order: 'total' }), forward({ order: 'partial' })];
    expect([total.wholeSeconds, partial.wholeSeconds]).toEqual([false, true]);
    expectTypeOf(total).not.toExtend<WholeSecondsPaginator<ForwardCursor>>();
    expectTypeOf(partial).toExtend<WholeSecondsPaginator<ForwardCursor>>();
  });

  test('never requests an offset deeper than one second', () => {
    fc.assert(
      fc.property(anyRows, anySize, (rows, maxSize) => {
        const { requests } = walk({ order: 'total', maxSize }, createServer(rows, 'total'), rows);
        for (const { offset, start_utime } of requests) {
          expect(Number(offset)).toBeLessThanOrEqual(
            rows.filter(({ utime }) => utime === start_utime).length,
          );
        }
      }),
    );
  });

  test('reads a second again if another replica responds with another order of rows', () => {
    const rows = Array.from({ length: 30 }, (_, index) => ({
      utime: 110,
      lt: String(index),
      id: String(index),
    }));
    const whole = createServer(rows, 'total');
    const stale = createServer(
      rows.filter(({ id }) => id !== '3'),
      'total',
    );
    const { read } = walk(
      { order: 'total', maxSize: 10 },
      (params, request) => (request === 2 ? stale(params) : whole(params)),
      rows,
    );
    expect(read.size).toBe(30);
  });

  test('gives up offsets if the order changes from response to response, and still loses nothing', () => {
    const rows = Array.from({ length: 40 }, (_, index) => ({
      utime: 110,
      lt: String(index % 20),
      id: String(index),
    }));
    const { read, saturated } = walk({ order: 'total', maxSize: 10 }, createServer(rows, 'partial'), rows);
    expect(saturated).toEqual([]);
    expect(read.size).toBe(40);
  });

  test('collects a logical time larger than a page, or reports it as saturated: never covers it unread', () => {
    const rows = Array.from({ length: 15 }, (_, index) => ({ utime: 110, lt: '7', id: String(index) }));
    const gathered = walk({ order: 'partial', maxSize: 10 }, createServer(rows, 'partial'), rows);
    expect(gathered.saturated).toEqual([]);
    const forgetful = createServer(rows, 'partial');
    const hidden = (params: Params) => forgetful(params).map((row) => (row.id === '3' ? rows[4]! : row));
    const cheated = walk({ order: 'partial', maxSize: 10 }, hidden, []);
    expect(cheated.saturated).toEqual([{ from: 110, to: 111 }]);
  });

  test.each([
    ['outside the window', [{ utime: 99, lt: '1', id: 'a' }]],
    [
      'not sorted by time',
      [
        { utime: 120, lt: '1', id: 'a' },
        { utime: 119, lt: '2', id: 'b' },
      ],
    ],
  ])('refuses a page with rows %s', (_, positions) => {
    const paginator = forward({ order: 'total' });
    expect(() => paginator.next(paginator.start(SPAN), { size: 1000, positions })).toThrow(BadResponseError);
  });
});

describe('a walk with pages that may be cut short', () => {
  const paginator = forward({ order: 'partial', joined: true });
  const row = (utime: number) => ({ utime, lt: '1', id: String(utime) });

  test('completes a short page only as far as its rows are linked', () => {
    const step = paginator.next(paginator.start(SPAN), {
      size: 1000,
      positions: [row(101), row(120)],
      joins: { until: 118 },
    });
    expect(step.completed).toEqual({ from: 100, to: 118 });
    expect(paginator.request(step.cursor!, 1000)['start_utime']).toBe(118);
  });

  test('looks further ahead if nothing is linked, and gives up in the end', () => {
    let cursor = paginator.start(SPAN);
    let last = 0;
    const look = () => {
      const step = paginator.next(cursor, { size: 1000, positions: [row(101)], joins: { until: 100 } });
      expect(step.completed).toBeUndefined();
      cursor = step.cursor!;
      const end = Number(paginator.request(cursor, 1000)['end_utime']);
      expect(end).toBeGreaterThan(last);
      last = end;
    };
    expect(() => {
      for (let attempt = 0; attempt < 50; attempt += 1) look();
    }).toThrow(/connects/);
  });
});

describe('a page of one second that may have been cut', () => {
  const rows: Position[] = Array.from({ length: 17 }, (_, n) => ({
    utime: 110,
    lt: String(n >> 1),
    id: String(n),
  }));
  /** Every page with fewer rows than requested is doubted; the server gives so many at most. */
  const read = (most: number) => {
    const paginator = forward({ order: 'partial', maxSize: 40 });
    const serve = createServer(rows, 'partial');
    const seen = new Set<string>();
    let requests = 0;
    let cursor: ForwardCursor | undefined = paginator.start({ from: 110, to: 111 });
    for (; cursor !== undefined && requests < 500; requests += 1) {
      const params = paginator.request(cursor, 40);
      const positions = serve(params).slice(0, most);
      for (const { id } of positions) seen.add(id);
      const isDoubted = positions.length > 0 && positions.length < params.limit;
      const size = isDoubted ? positions.length : params.limit;
      cursor = paginator.next(cursor, { size, isDoubted, positions }).cursor;
    }
    return { requests, seen: seen.size };
  };

  test('costs one more request if it was whole', () => {
    expect(read(40)).toEqual({ requests: 2, seen: 17 });
  });

  test.each([16, 9, 5, 3])('loses nothing if the server gives %i rows at most', (most) => {
    const { requests, seen } = read(most);
    expect(seen).toBe(17);
    expect(requests).toBeLessThan(100);
  });
});
