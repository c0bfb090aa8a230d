import fc from 'fast-check';
import { isSafeNumber, LosslessNumber, parse as parseLossless, stringify } from 'lossless-json';
import { expect, test, vi } from 'vitest';
import { parseBody, parseJson } from '../../../src/api/read-response.ts';
import { BadResponseError } from '../../../src/errors.ts';
import { slowness } from '../../support/slowness.ts';
import { runs } from '../../support/thorough.ts';

test('ordinary bodies parse as with JSON.parse', () => {
  const text = '{"a":[1,-2.5,1e3,true,null,"x"],"b":{"c":"😀 \\ud83d\\ude00 ü"},"__proto__":1}';
  expect(parseJson(text)).toEqual(JSON.parse(text));
});

test.each([
  ['{"n":9223372036854775807}', 9223372036854775807n],
  ['{"n":-9223372036854775808}', -9223372036854775808n],
  ['{"n": 18446744073709551615 }', 18446744073709551615n],
  ['{"n":9007199254740993}', 9007199254740993n],
  ['{"n":9007199254740991}', 9007199254740991],
  ['{"n":1234567890123456}', 1234567890123456],
  ['{"n":66.66666666666667}', 66.66666666666667],
  ['{"n":0.1}', 0.1],
])('%s keeps its integer exactly', (text, n) => {
  expect(parseJson(text)).toEqual({ n });
});

test('integers beyond 2^53 are exact inside lists and lists of lists', () => {
  expect(parseJson('[1,9223372036854775807,[9223372036854775806],\n  9223372036854775805]')).toEqual([
    1,
    9223372036854775807n,
    [9223372036854775806n],
    9223372036854775805n,
  ]);
});

test.each(['0.12345678901234567890123', '1e400', '12345678901234567.5'])(
  '%s stays exact as text',
  (token) => {
    const { n } = parseJson(`{"n":${token}}`) as { n: unknown };
    expect(n).toBeInstanceOf(LosslessNumber);
    expect(String(n)).toBe(token);
  },
);

test('a repeated member takes the last value in both parsers', () => {
  expect(parseJson('{"a":1,"a":2}')).toEqual({ a: 2 });
  expect(parseJson('{"a":9223372036854775807,"a":9223372036854775806}')).toEqual({ a: 9223372036854775806n });
});

test('long digits inside strings do not count as numbers', () => {
  const text =
    '{"source":"0:6440039694103839639451734B11479BF0B9B4D7090E58777BDA581C2F9998","lt":"60000000000001234"}';
  const parse = vi.spyOn(JSON, 'parse');
  try {
    parseJson(text);
    expect(parse).toHaveBeenCalledTimes(1);
  } finally {
    parse.mockRestore();
  }
});

test('digits inside a string stay, next to a long number', () => {
  const text = String.raw`{"text":"\"[9223372036854775807],","n":9223372036854775807,"__proto__":{"e":"1e400"}}`;
  const parsed = parseJson(text) as object;
  expect(Object.entries(parsed)).toEqual([
    ['text', '"[9223372036854775807],'],
    ['n', 9223372036854775807n],
    ['__proto__', { e: '1e400' }],
  ]);
});

/** Numbers, strings and pieces of JSON in sequence, with a long number first. */
const pieces = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '[',
        ']',
        '{',
        '}',
        ',',
        ':',
        '"',
        '\\',
        ' ',
        '-',
        '0',
        '.',
        'e',
        'null',
        '"a":',
        '"a"',
      ),
      fc.stringMatching(/^-?\d{1,20}(\.\d{1,3})?([eE]\d{1,3})?$/),
      fc.json(),
      fc.constantFrom('"𐌰"', '"𐌰𐌱":', '"\\ud800\\udc01"', '"\\\\"', '"\\"[1"'),
    ),
    { maxLength: 12 },
  )
  .map((texts) => `[[${'9'.repeat(17)},${texts.join('')}],1]`);

test('a body with a long number equals the result of a parser that keeps all numbers as text', () => {
  const counts = { parsed: 0, refused: 0 };
  fc.assert(
    fc.property(
      fc.oneof(
        pieces,
        fc.json().map((text) => `[${'9'.repeat(17)},${text}]`),
      ),
      (text) => {
        const expected = outcome(() =>
          parseLossless(text, undefined, { parseNumber: exactly, onDuplicateKey: last }),
        );
        counts[expected === BROKEN ? 'refused' : 'parsed'] += 1;
        expect(outcome(() => parseJson(text))).toEqual(expected);
      },
    ),
    { numRuns: runs(3000) },
  );
  expect(Math.min(counts.parsed, counts.refused)).toBeGreaterThan(runs(300));
});

const BROKEN = 'broken';
const last = ({ newValue }: { newValue: unknown }) => newValue;

function exactly(token: string): unknown {
  if (isSafeNumber(token)) return Number(token);
  return /^-?\d+$/.test(token) ? BigInt(token) : new LosslessNumber(token);
}

function outcome(parse: () => unknown): unknown {
  try {
    return parse();
  } catch {
    return BROKEN;
  }
}

test.each(['"𐌰𐌱"', String.raw`"\ud800\udc01x"`, '{"𐌰":1}', '{"__proto__":{"a":"𐌰"}}'])(
  'a long number changes nothing of %s next to it',
  (json) => {
    expect(JSON.stringify((parseJson(`[1e400,${json}]`) as unknown[])[1])).toBe(
      JSON.stringify(JSON.parse(json)),
    );
  },
);

test('a long number is found at any depth that JSON allows', () => {
  const depth = 5000;
  let inner = parseJson(`${'{"h":"x","children":['.repeat(depth)}9223372036854775807${']}'.repeat(depth)}`);
  for (let level = 0; level < depth; level += 1) [inner] = (inner as { children: unknown[] }).children;
  expect(inner).toBe(9223372036854775807n);
});

test('a body that ends in a string of many quotes is refused at once', () => {
  const began = performance.now();
  expect(() => parseJson(`[12345678901234567890,"${String.raw`\"`.repeat(100_000)}`)).toThrow('broken JSON');
  expect(performance.now() - began).toBeLessThan(2000 * slowness());
});

test('NUL is dropped and lone surrogates are replaced, in keys too, and pairs stay', () => {
  const text = String.raw`{"a\u0000b":["x\u0000\u0000y","\ud800","\udc00z","\ud83d\ude00","\\u0000"],"n":9223372036854775807,"f":1e400}`;
  expect(parseJson(text)).toEqual({
    ab: ['xy', '\uFFFD', '\uFFFDz', '😀', '\\u0000'],
    n: 9223372036854775807n,
    f: new LosslessNumber('1e400'),
  });
});

test.each([
  ['<html><head><title>502 Bad\nGateway</title></head></html>', 'HTML page "502 Bad Gateway"'],
  ['', 'an empty body'],
  ['{"transactions":[{"a":1},', '25 characters of broken JSON'],
  ['{"n":9223372036854775807,', 'broken JSON'],
  ['upstream connect error', 'upstream connect error'],
  ['{"n":00123456789012345678}', 'broken JSON'],
  ['{"n":9223372036854775807.}', 'broken JSON'],
  ['{"a":[9223372036854775807],9223372036854775806:1}', 'broken JSON'],
  ['{"a":{9223372036854775806 :1},"a":2}', 'broken JSON'],
  ['{"a":[9223372036854775807]9223372036854775806}', 'broken JSON'],
])('%j is a bad response that names what came instead', (text, reason) => {
  expect(() => parseJson(text)).toThrow(BadResponseError);
  expect(() => parseJson(text)).toThrow(reason);
});

test.each([
  '9007199254740993',
  '-9007199254740993',
  '0.12345678901234567890123',
  '1e400',
  '1E-400',
  '12e+345',
])('%s is found, wherever it is', (token) => {
  for (let before = 0; before < 12; before += 1) {
    const pad = 'x'.repeat(before);
    for (const text of [`{"${pad}":${token}}`, `["${pad}", ${token}]`, `["${pad}1234",[${token},5]]`]) {
      expect(parseJson(text)).not.toEqual(JSON.parse(text));
      expect(stringify(parseJson(text))).toContain(token);
    }
  }
});

test.each([
  '{"error":"timeout","actions":[]}',
  '{"actions":[],"error":"context deadline exceeded"}',
  '{"actions":null,"code":500,"error":{"message":"x"}}',
  '{"\\u0065rror":"x","actions":[{"a":1}]}',
  '{"error":{"code":13},"blocks":[]}',
])('a body that names an error is a bad response, whatever else it has: %s', (text) => {
  expect(() => parseBody(text)).toThrow(/an error \(/);
});

test.each([
  '{"actions":[]}',
  '{"actions":[],"error":null}',
  '{"actions":[],"error":""}',
  '{"actions":[{"error":"of a record"}]}',
  '{"ok":false,"error":"of the envelope","code":500}',
  '{"jsonrpc":"2.0","error":{"code":-3},"id":1}',
])('a body that names no error is read, and so is the envelope of v2: %s', (text) => {
  expect(parseBody(text)).toEqual(JSON.parse(text));
});
