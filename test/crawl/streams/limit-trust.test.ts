import { describe, expect, test } from 'vitest';
import { createLimitTrust, type SpanTrust } from '../../../src/crawl/streams/limit-trust.ts';

/** The size by which a page is judged that is an answer to its request. */
function sizeOf(span: SpanTrust, asked: number, rows: readonly string[]): number {
  const { size, accept } = span.judge(asked, rows);
  accept();
  return size;
}

const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => String(from + at));

describe('a short page', () => {
  test('is doubted where it is longer than every page before it, and believed where nothing follows', () => {
    const trust = createLimitTrust(() => expect.unreachable());
    const span = trust.openSpan();
    expect(sizeOf(span, 1000, ids(0, 333))).toBe(333);
    expect(sizeOf(span, 1000, ids(332, 333))).toBe(1000);
    span.ended();
    const later = trust.openSpan();
    expect(sizeOf(later, 1000, ids(0, 333))).toBe(1000);
    expect(sizeOf(later, 1000, ids(0, 47))).toBe(1000);
    expect(sizeOf(later, 1000, ids(0, 334))).toBe(334);
    expect(trust.limit(1000)).toBe(1000);
  });

  test('of a few rows is believed', () => {
    const trust = createLimitTrust(() => undefined);
    expect(sizeOf(trust.openSpan(), 1000, ids(0, 9))).toBe(1000);
  });

  test('of a length that people choose for a limit is doubted once, though longer pages came', () => {
    const trust = createLimitTrust(() => expect.unreachable());
    const span = trust.openSpan();
    expect(sizeOf(span, 1000, ids(0, 1000))).toBe(1000);
    expect(sizeOf(span, 1000, ids(1000, 1256))).toBe(256);
    expect(sizeOf(span, 1000, ids(1255, 1256))).toBe(1000);
    span.ended();
    expect(sizeOf(trust.openSpan(), 1000, ids(0, 256))).toBe(1000);
  });
});

test('a server that cuts pages is asked for no more than it gives', () => {
  const caps: number[] = [];
  const trust = createLimitTrust((cap) => caps.push(cap));
  const span = trust.openSpan();
  expect(sizeOf(span, 1000, ids(0, 137))).toBe(137);
  expect(sizeOf(span, 1000, ids(136, 273))).toBe(137);
  expect(trust.limit(1000)).toBe(137);
  expect(sizeOf(span, 137, ids(272, 409))).toBe(137);
  expect(sizeOf(span, 137, ids(408, 450))).toBe(137);
  expect(caps).toEqual([137]);
});

test('of two servers the one that cuts pages counts', () => {
  const caps: number[] = [];
  const trust = createLimitTrust((cap) => caps.push(cap));
  const span = trust.openSpan();
  expect(sizeOf(span, 1000, ids(0, 1000))).toBe(1000);
  expect(sizeOf(span, 1000, ids(999, 1099))).toBe(100);
  expect(sizeOf(span, 1000, ids(1098, 1500))).toBe(1000);
  expect(trust.limit(1000)).toBe(100);
  expect(caps).toEqual([100]);
});

test('a page that is refused as an answer teaches nothing', () => {
  const trust = createLimitTrust(() => expect.unreachable());
  const span = trust.openSpan();
  expect(sizeOf(span, 1000, ids(0, 333))).toBe(333);
  span.judge(1000, ids(5000, 5010));
  expect(trust.limit(1000)).toBe(1000);
});
