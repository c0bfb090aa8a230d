import { describe, expect, test } from 'vitest';
import { createLimitTrust, type SpanTrust } from '../../src/crawl/request-bounds.ts';

const SPAN = { from: 0, to: 100 };

const pageOf = (asked: number, rows: readonly string[], utime = 5) => ({
  asked,
  window: { until: 50, offset: 0 },
  positions: rows.map((id) => ({ utime, lt: '1', id })),
});

/** The believed page size after a response to the request for that size. */
function sizeOf(span: SpanTrust, asked: number, rows: readonly string[], utime = 5): number {
  const { size, accept } = span.judge(pageOf(asked, rows, utime));
  accept();
  return size;
}

const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => String(from + at));

describe('a short page', () => {
  test('is doubted if it is longer than every page before it, and believed if nothing follows', () => {
    const trust = createLimitTrust(() => expect.unreachable());
    const span = trust.openSpan(SPAN);
    expect(sizeOf(span, 1000, ids(0, 333))).toBe(333);
    expect(sizeOf(span, 1000, ids(332, 333))).toBe(1000);
    span.ended();
    const later = trust.openSpan(SPAN);
    expect(sizeOf(later, 1000, ids(0, 333))).toBe(1000);
    expect(sizeOf(later, 1000, ids(0, 47))).toBe(1000);
    expect(sizeOf(later, 1000, ids(0, 334))).toBe(334);
    expect(trust.limit(1000)).toBe(1000);
  });

  test('of a few rows is believed', () => {
    const trust = createLimitTrust(() => undefined);
    expect(sizeOf(trust.openSpan(SPAN), 1000, ids(0, 9))).toBe(1000);
  });

  test('whose length is a usual limit is doubted once, even if longer pages came', () => {
    const trust = createLimitTrust(() => expect.unreachable());
    const span = trust.openSpan(SPAN);
    expect(sizeOf(span, 1000, ids(0, 1000))).toBe(1000);
    expect(sizeOf(span, 1000, ids(1000, 1256))).toBe(256);
    expect(sizeOf(span, 1000, ids(1255, 1256))).toBe(1000);
    span.ended();
    expect(sizeOf(trust.openSpan(SPAN), 1000, ids(0, 256))).toBe(1000);
  });
});

test('a server that cuts pages twice at one length gets requests for that many rows', () => {
  const caps: number[] = [];
  const trust = createLimitTrust((cap) => caps.push(cap));
  const span = trust.openSpan(SPAN);
  expect(sizeOf(span, 1000, ids(0, 137))).toBe(137);
  expect(sizeOf(span, 1000, ids(136, 273))).toBe(137);
  expect(trust.limit(1000)).toBe(1000);
  expect(sizeOf(span, 1000, ids(272, 409))).toBe(137);
  expect(trust.limit(1000)).toBe(137);
  expect(sizeOf(span, 137, ids(408, 545))).toBe(137);
  expect(sizeOf(span, 137, ids(544, 600))).toBe(137);
  expect(caps).toEqual([137]);
});

test('a length at which a lagging server cut a page once is believed again when more complete pages of that length came', () => {
  const trust = createLimitTrust(() => expect.unreachable());
  const lagged = trust.openSpan(SPAN);
  expect(sizeOf(lagged, 1000, ids(0, 137))).toBe(137);
  expect(sizeOf(lagged, 1000, ids(136, 150))).toBe(1000);
  for (const expected of [137, 137, 137, 1000]) {
    const span = trust.openSpan(SPAN);
    expect(sizeOf(span, 1000, ids(0, 137))).toBe(expected);
    expect(sizeOf(span, 1000, ids(136, 137))).toBe(1000);
    span.ended();
  }
});

test('of two servers the one that cuts pages counts', () => {
  const caps: number[] = [];
  const trust = createLimitTrust((cap) => caps.push(cap));
  const span = trust.openSpan(SPAN);
  expect(sizeOf(span, 1000, ids(0, 1000))).toBe(1000);
  for (const at of [1000, 2000]) {
    expect(sizeOf(span, 1000, ids(at, at + 100))).toBe(100);
    expect(sizeOf(span, 1000, ids(at + 99, at + 500))).toBe(1000);
  }
  expect(trust.limit(1000)).toBe(100);
  expect(caps).toEqual([100]);
});

test('rows behind the window of a doubted page say nothing about it', () => {
  const trust = createLimitTrust(() => expect.unreachable());
  const span = trust.openSpan(SPAN);
  for (const at of [0, 100, 200]) {
    expect(sizeOf(span, 1000, ids(at, at + 60 + at / 100))).toBe(60 + at / 100);
    expect(sizeOf(span, 1000, ids(at + 70, at + 75), 60)).toBe(1000);
  }
  expect(trust.limit(1000)).toBe(1000);
});

test('a page that is refused as a response changes nothing', () => {
  const trust = createLimitTrust(() => expect.unreachable());
  const span = trust.openSpan(SPAN);
  expect(sizeOf(span, 1000, ids(0, 333))).toBe(333);
  span.judge(pageOf(1000, ids(5000, 5010)));
  expect(trust.limit(1000)).toBe(1000);
});

test('a second that is split by logical time shows no cap: its parts are windows of their own', () => {
  const trust = createLimitTrust(() => expect.unreachable());
  const span = trust.openSpan(SPAN);
  const judge = (rows: readonly number[], bounds: { startLt?: bigint; endLt?: bigint }) => {
    const positions = rows.map((lt) => ({ utime: 5, lt: String(lt), id: String(lt) }));
    const { size, accept } = span.judge({
      asked: 1000,
      window: { until: 50, offset: 0, ...bounds },
      positions,
    });
    accept();
    return size;
  };
  const lts = Array.from({ length: 999 }, (_, at) => at);
  expect(judge(lts, {})).toBe(999);
  expect(judge(lts.slice(0, 499), { endLt: 498n })).toBe(1000);
  expect(judge(lts.slice(499, 500), { startLt: 499n, endLt: 499n })).toBe(1000);
  expect(judge(lts.slice(500), { startLt: 500n })).toBe(1000);
  span.ended();
  expect(judge(lts, {})).toBe(1000);
  expect(trust.limit(1000)).toBe(1000);
});
