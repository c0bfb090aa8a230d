import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toJson } from '../../src/write/lines.ts';
import { SameJson } from '../../src/dataset/bytes/json-bytes.ts';
import { runs } from '../support/thorough.ts';

function endOf(json: string): number {
  return new SameJson(Buffer.from(`["",${json},""]`)).endOf(4) - 4;
}

/** True if a text is JSON that serializes to itself. */
function isPrintedAlike(json: string): boolean {
  try {
    return toJson(JSON.parse(json)) === json;
  } catch {
    return false;
  }
}

const deep = (depth: number) => `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`;

describe('JSON that can be copied unchanged', () => {
  it.each([
    ['""', '"é 😀"', '0', '-7', '123456789012345', 'true', 'false', 'null', '{}', '[]', '[[],{},""]'],
    ['{"a":{"b":1},"b":{"b":2},"ab":[{"b":1},{"b":1}]}', '{"":1,"__proto__":{"x":1},"-1":2}', deep(16)],
  ])('is %s', (...texts) => {
    for (const json of texts) {
      expect(isPrintedAlike(json)).toBe(true);
      expect(endOf(json)).toBe(Buffer.byteLength(json));
    }
  });

  it.each([
    ['{"a":1,"b":2,"a":3}', '{"a":{},"a":{}}', '{"2":1,"1":2}', '{"isLosslessNumber":true,"value":"1"}'],
    ['"\\n"', '{"\\u0061":1}', '{ "a":1}', '[1, 2]', '1.0', '1e5', '-0', '01', '1234567890123456789'],
    ['{"a":1,}', '[1,]', '[,]', '{"a"}', '{a:1}', '[1}', '{"a":1]', 'nul', '"a\n"', '', deep(17)],
  ])('is not %s', (...texts) => {
    for (const json of texts) expect(endOf(json)).toBeLessThan(0);
  });

  it('is no text that would serialize differently, in any combination', () => {
    const piece = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"a":',
        '"b":',
        '"1":',
        '"a"',
        '1',
        '-0',
        '1.5',
        'null',
        '{}',
        ' ',
        '\\',
      ],
      ...['{"a":', ',"a":', ',"b":', '"é"', '[1,', '"', '"\\t"'],
    );
    let taken = 0;
    fc.assert(
      fc.property(fc.array(piece, { minLength: 1, maxLength: 12 }), (pieces) => {
        const body = Buffer.from(`["",${pieces.join('')},""]`);
        const end = new SameJson(body).endOf(4);
        if (end >= 0) taken += 1;
        return end < 0 || isPrintedAlike(body.subarray(4, end).toString());
      }),
      { seed: 5, numRuns: runs(20_000) },
    );
    expect(taken).toBeGreaterThan(1000);
  });

  it('is found again after other text', () => {
    const same = new SameJson(Buffer.from('[{"a":[{"a":[1.5]}]},{"a":[{"a":[1]}]}]'));
    expect(same.endOf(1)).toBe(-1);
    expect(same.endOf(21)).toBe(38);
  });
});
