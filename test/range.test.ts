import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../src/errors.ts';
import {
  formatDuration,
  formatTime,
  parseDuration,
  parseRange,
  parseRangeText,
  parseTime,
  TIME_FORMS,
  toMultirangeText,
} from '../src/range.ts';

const NOW = Date.UTC(2026, 10, 20, 13, 30) / 1000;
const at = (text: string) => Date.parse(text) / 1000;

describe('a time', () => {
  test.each([
    ['2026-11-01', '2026-11-01T00:00:00Z'],
    ['2026-11', '2026-11-01T00:00:00Z'],
    ['2026-11-01T10:00Z', '2026-11-01T10:00:00Z'],
    ['2026-11-01T10:00', '2026-11-01T10:00:00Z'],
    ['2026-11-01T10:00:30+02:00', '2026-11-01T08:00:30Z'],
    ['1761955200', '2025-11-01T00:00:00Z'],
    ['-6h', '2026-11-20T07:30:00Z'],
    ['-7d', '2026-11-13T13:30:00Z'],
    ['yesterday', '2026-11-19T00:00:00Z'],
    ['today', '2026-11-20T00:00:00Z'],
    ['now', '2026-11-20T13:30:00Z'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseTime(text, NOW)).toBe(at(expected));
  });

  test.each(TIME_FORMS.map((form) => (form === 'unix seconds' ? '1761955200' : form)))(
    'is read as %s',
    (text) => {
      expect(parseTime(text, NOW)).toBeGreaterThan(0);
    },
  );

  test.each([
    '',
    '2026-13',
    '2026-02-30',
    '2026-11-01T25:00',
    'tomorrow',
    '-6',
    '6h',
    '12',
    '2026/11/01',
    '-h',
  ])('%j is refused with a sentence', (text) => {
    expect(() => parseTime(text, NOW)).toThrow(UsageError);
  });

  test('is read back as it was printed', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4_000_000_000 }),
        (time) => parseTime(formatTime(time), NOW) === time,
      ),
    );
  });

  test('throws no other error, whatever is typed', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        try {
          expect(Number.isInteger(parseTime(text, NOW))).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(UsageError);
        }
      }),
    );
  });
});

test('a range must not be empty, and an error names both ends', () => {
  expect(() => parseRange('2026-11-02', '2026-11-01', NOW)).toThrow(
    /2026-11-02T00:00:00Z.*before.*2026-11-01T00:00:00Z/,
  );
  expect(() => parseRange('2026-11-02', '2026-11-02', NOW)).toThrow(UsageError);
});

test('a duration is read and printed', () => {
  expect(['90s', '5m', '2h', '7d', '1w', '1.5h'].map(parseDuration)).toEqual([
    90, 300, 7200, 604800, 604800, 5400,
  ]);
  expect([0, 59, 3600, 90061].map(formatDuration)).toEqual(['0s', '59s', '1h', '1d 1h']);
  expect(() => parseDuration('soon')).toThrow(UsageError);
});

describe('ranges', () => {
  test('are read back from the text that Postgres prints', () => {
    expect(parseRangeText('{[1,5),[7,9)}')).toEqual([
      { from: 1, to: 5 },
      { from: 7, to: 9 },
    ]);
    expect(parseRangeText('[-3,5)')).toEqual([{ from: -3, to: 5 }]);
    expect(parseRangeText('{}')).toEqual([]);
    expect(parseRangeText('empty')).toEqual([]);
    expect(parseRangeText('{(,5),[7,)}')).toEqual([
      { from: -Infinity, to: 5 },
      { from: 7, to: Infinity },
    ]);
    expect(parseRangeText(toMultirangeText([{ from: 1, to: 2 }]))).toEqual([{ from: 1, to: 2 }]);
  });
});
