import { expect, test } from 'vitest';
import { toQuery } from '../../src/api/client.ts';
import { UsageError } from '../../src/errors.ts';

test('parameters keep their order, arrays become repeated keys, undefined is left out', () => {
  expect(
    toQuery({ limit: 1000, sort: 'asc', a: undefined, address: ['0:A', '0:B'], include_boc: false }),
  ).toBe('limit=1000&sort=asc&address=0%3AA&address=0%3AB&include_boc=false');
});

test('the plus, slash and equals signs of base64 survive', () => {
  expect(new URLSearchParams(toQuery({ hash: 'a+b/c=' })).get('hash')).toBe('a+b/c=');
});

test.each([{ address: [] }, { address: '' }, { address: ['0:A', ''] }, { limit: NaN }])(
  '%j is refused, because the server would drop the filter',
  (params) => {
    expect(() => toQuery(params)).toThrow(UsageError);
  },
);

test('a key cannot travel in the URL, and the error does not repeat it', () => {
  expect(() => toQuery({ api_key: 'secret' })).toThrow(/^(?!.*secret).*URL/);
});
