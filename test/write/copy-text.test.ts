import { LosslessNumber } from 'lossless-json';
import { expect, test } from 'vitest';
import { CopyBuffer } from '../../src/write/lines.ts';
import type { CopyColumn } from '../../src/write/target.ts';

const columns = [
  { name: 'a', kind: 'text' },
  { name: 'b', kind: 'json' },
] as const;

const toCopyText = (of: readonly CopyColumn[], rows: readonly Record<string, unknown>[]) => {
  const lines = new CopyBuffer();
  for (const row of rows) lines.row(of, row);
  return Buffer.from(lines.take()).toString();
};

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

test('rows that are longer than the buffer are whole', () => {
  const rows = Array.from({ length: 200 }, (_, index) => ({ a: 'é'.repeat(40_000), b: index }));
  const lines = toCopyText(columns, rows).split('\n');
  expect(lines).toHaveLength(201);
  expect(lines.slice(0, -1).every((line, index) => line === `${'é'.repeat(40_000)}\t${index}`)).toBe(true);
});
