import { expect, test } from 'vitest';
import { canBeBytes, readBody } from '../../../src/api/response/body-text.ts';

test.each([
  ['{"a":"é"}', true],
  [String.raw`{"a":"\u003c\u007f\u0001"}`, true],
  [String.raw`{"a":"\u0000"}`, false],
  [String.raw`{"a":"\u0080"}`, false],
  [String.raw`{"a":"\u00e9"}`, false],
  [String.raw`{"a":"\u003c\u2028"}`, false],
  [String.raw`{"a":"\ud83d\ude00"}`, false],
  [String.raw`{"a":"\u`, false],
])('%s may be read by its bytes: %s', (json, may) => {
  const body = Buffer.from(json);
  expect(canBeBytes(body)).toBe(may);
  expect(readBody(body, 'bytes')).toEqual(
    may ? { text: body.toString('latin1'), strings: 'bytes' } : { text: json, strings: 'text' },
  );
  expect(readBody(body, 'text')).toEqual({ text: json, strings: 'text' });
});
