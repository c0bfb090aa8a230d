import { LosslessNumber } from 'lossless-json';
import { expect, test } from 'vitest';
import { toCopyText as toPieces } from '../../src/write/copy-buffer.ts';

const toCopyText = (...args: Parameters<typeof toPieces>) => [...toPieces(...args)].join('');

const columns = [
  { name: 'a', kind: 'text' },
  { name: 'b', kind: 'json' },
] as const;

test('a row is a line with tabs between its values, and a missing value is null', () => {
  const text = toCopyText(columns, [
    { a: 'x', b: { c: 1 }, other: 2 },
    { a: null },
    { b: null },
    { a: '', b: '' },
  ]);
  expect(text).toBe('x\t{"c":1}\n\\N\t\\N\n\\N\t\\N\n\t""\n');
});

test('numbers and flags print themselves', () => {
  expect(
    toCopyText(columns, [
      { a: -1.5, b: 0 },
      { a: true, b: false },
    ]),
  ).toBe('-1.5\t0\ntrue\tfalse\n');
});

test('backslashes, tabs and newlines are escaped', () => {
  expect(toCopyText(columns, [{ a: 'a\\N\tb\r\nc', b: 'a\\"\n' }])).toBe(
    'a\\\\N\\tb\\r\\nc\t"a\\\\\\\\\\\\"\\\\n"\n',
  );
});

test('numbers that a double cannot hold keep all their digits, even inside JSON', () => {
  const exact = new LosslessNumber('0.12345678901234567890123');
  expect(toCopyText(columns, [{ a: 2n ** 63n, b: { n: [2n ** 64n] } }])).toBe(
    '9223372036854775808\t{"n":[18446744073709551616]}\n',
  );
  expect(toCopyText(columns, [{ a: exact, b: { n: exact, u: undefined } }])).toBe(
    '0.12345678901234567890123\t{"n":0.12345678901234567890123}\n',
  );
});

test('many rows come in pieces of whole lines', () => {
  const rows = Array.from({ length: 10_000 }, (_, index) => ({ a: 'x'.repeat(50), b: index }));
  const pieces = [...toPieces(columns, rows)];
  expect(pieces.length).toBeGreaterThan(5);
  expect(pieces.every((piece) => piece.endsWith('\n') && piece.length < 70_000)).toBe(true);
  expect(pieces.join('').split('\n')).toHaveLength(10_001);
});
