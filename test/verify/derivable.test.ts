import { expect, test } from 'vitest';
import { worthKeeping } from '../../src/verify/derive.ts';

const span = { from: 0, to: 1000 };

test('a range without holes is kept whole, however few rows it has', () => {
  expect(worthKeeping(span, [{ span, rows: 3 }], 1000)).toEqual([span]);
});

test('less than a page between two holes is read with them', () => {
  const stretches = [
    { span: { from: 0, to: 400 }, rows: 5000 },
    { span: { from: 401, to: 450 }, rows: 999 },
    { span: { from: 451, to: 1000 }, rows: 7000 },
  ];
  expect(worthKeeping(span, stretches, 1000)).toEqual([
    { from: 0, to: 400 },
    { from: 451, to: 1000 },
  ]);
});

test('a page between two holes is kept, and so is the part up to the end of the range', () => {
  const stretches = [
    { span: { from: 0, to: 10 }, rows: 5 },
    { span: { from: 11, to: 998 }, rows: 1000 },
    { span: { from: 999, to: 1000 }, rows: 1 },
  ];
  expect(worthKeeping(span, stretches, 1000)).toEqual(stretches.map((stretch) => stretch.span));
});

test('a range with more than a fifth of holes is read whole', () => {
  const half = { from: 0, to: 800 };
  expect(worthKeeping(span, [{ span: half, rows: 9000 }], 1000)).toEqual([half]);
  expect(worthKeeping(span, [{ span: { from: 0, to: 799 }, rows: 9000 }], 1000)).toEqual([]);
});

test('nothing is kept if nothing is there', () => {
  expect(worthKeeping(span, [], 1000)).toEqual([]);
});
