import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cellsOf, columnKindOf, csvLine, forSpreadsheets } from '../src/csv.ts';

test('a written CSV line is read back unchanged', () => {
  const cell = fc.oneof(
    fc.constant(null),
    fc.string(),
    fc.constantFrom('', '"', ',', '\n', '\r\n', '""', 'a,"b"\n'),
  );
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1 }), (cells) => {
      expect(cellsOf(csvLine(cells))).toEqual(cells);
    }),
  );
});

describe('for a spreadsheet', () => {
  const one = (text: string) => forSpreadsheets([text])[0];

  test.each([
    '+abc=',
    '=1+1',
    '-1:AB',
    '@x',
    '-',
    '-5a',
    '+5',
    '\t=1',
    ' =1',
    '\r\n=1',
    '＝1',
    '-1e5',
    '--5',
  ])('a text that would be a formula is text: %j', (text) => {
    expect(one(text)).toBe(`'${text}`);
  });

  test.each([
    '1234567890123456',
    '-1234567890123456',
    '1.234567890123456',
    '00123',
    '4E10',
    '12e-3',
    '9'.repeat(78),
  ])('a number that would lose digits is text: %s', (text) => {
    expect(one(text)).toBe(`'${text}`);
  });

  test.each([
    '',
    '0',
    '5',
    '-5',
    '123456789012345',
    '0.000000001',
    '-0.5',
    '1.50',
    'abc',
    '0:AB',
    '{"a":-1}',
    't',
  ])('everything else stays as it is: %j', (text) => {
    expect(one(text)).toBe(text);
  });

  test('times lose their zone, booleans are words, and null stays empty', () => {
    const cells = ['2026-01-01 00:00:31+00', '2026-01-01 00:00:31.5+00', 't', 'f', null, 't'];
    const kinds = [undefined, undefined, 'truth', 'truth', 'truth', undefined] as const;
    expect(forSpreadsheets(cells, kinds)).toEqual([
      ...['2026-01-01 00:00:31', '2026-01-01 00:00:31.5', 'true', 'false', null, 't'],
    ]);
  });

  test.each([
    ['bigint', ['5', "'5"], ['1234567890123456789', "'1234567890123456789"]],
    ['numeric', ['0', "'0"], ['-0.5', "'-0.5"]],
    ['numeric(20,9)', ['1.5', "'1.5"], ['9'.repeat(30), `'${'9'.repeat(30)}`]],
    ['text', ['12', "'12"], ['abc', 'abc']],
    ['integer', ['12', '12'], ['-7', '-7']],
    ['double precision', ['0.25', '0.25'], ['1e-7', '1e-7']],
  ])('a column of type %s has either numbers or texts', (type, ...pairs) => {
    const kind = columnKindOf(type);
    expect(pairs.map(([cell]) => forSpreadsheets([cell!], [kind])[0])).toEqual(pairs.map(([, as]) => as));
  });

  test('no text of any kind becomes a formula, or loses digits as a number', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+=@]?[0-9.eE]{0,30}$/)), (text) => {
        const [cell = ''] = forSpreadsheets([text]);
        const isNumber = /^-?[\d.]+$/.test(cell ?? '') && String(Number(cell)).replace(/e.*/, '') !== '';
        expect(/^[=+@]/.test(cell ?? '') || (/^-/.test(cell ?? '') && !isNumber)).toBe(false);
      }),
    );
  });
});
