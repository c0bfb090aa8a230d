import { expect, test } from 'vitest';
import { ZodError } from 'zod';
import { openEnvelope, listOf } from '../../../src/api/read-response.ts';

test.each([
  { ok: true, result: { a: 1 }, '@extra': '1:2:3' },
  { ok: true, result: { a: 1 }, jsonrpc: '2.0', id: '17' },
  { jsonrpc: '2.0', id: null, result: { a: 1 }, error: null },
])('the result is taken out of %j, whatever its id', (body) => {
  expect(openEnvelope(body)).toEqual({ ok: true, result: { a: 1 } });
});

test.each([
  [{ ok: false, error: 'x', code: 422 }, 422],
  [{ ok: false, error: 'x', code: 0 }, 500],
  [{ ok: false, error: 'x', code: -3 }, 542],
  [{ ok: false, error: 'x', code: -400 }, 500],
  [{ ok: false, error: 'x' }, 500],
  [{ ok: false, result: 'Ratelimit exceed', code: 429 }, 429],
  [{ jsonrpc: '2.0', id: '1', error: { code: -32601, message: 'no such method' } }, 500],
])('%j stands for the status %d', (body, status) => {
  expect(openEnvelope(body)).toEqual({ ok: false, status });
});

test.each([{ ok: true }, {}, [], null, 'text', { transactions: [] }])('%j is no envelope', (body) => {
  expect(() => openEnvelope(body)).toThrow(ZodError);
});

test('a list is taken out of its member, null is an empty list', () => {
  expect(listOf('blocks')({ blocks: [1, { a: 2 }], address_book: {} })).toEqual([1, { a: 2 }]);
  expect(listOf('blocks')({ blocks: null })).toEqual([]);
});

test.each([{}, { blocks: {} }, { error: 'x' }, [], null, { transactions: [] }])(
  '%j holds no list of blocks',
  (body) => {
    expect(() => listOf('blocks')(body)).toThrow(ZodError);
  },
);
