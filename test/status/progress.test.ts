import { describe, expect, test } from 'vitest';
import type { Work } from '../../src/crawl/streams/planner.ts';
import { countProgress, percentOf } from '../../src/commands/summary.ts';

const range = { from: 1000, to: 2000 };
const untouched = (dataset: string, ...scopes: string[]): Work => ({
  dataset,
  range,
  missing: new Map(scopes.map((scope) => [scope, [range]])),
});

describe('progress', () => {
  test('begins at 0, counts every scope, and ends at its total', () => {
    const count = countProgress([untouched('blocks', ''), untouched('pools', 'a', 'b', 'c')]);
    expect([count.of('pools'), count.all()]).toEqual([
      { done: 0, total: 3000 },
      { done: 0, total: 4000 },
    ]);
    count.complete('pools', 'a', range);
    expect(percentOf(count.of('pools'))).toBe(33.3);
    for (const scope of ['a', 'b', 'c']) count.complete('pools', scope, range);
    expect(count.of('pools')).toEqual({ done: 3000, total: 3000 });
    expect(percentOf(count.all())).toBe(75);
    count.complete('blocks', '', range);
    expect(percentOf(count.all())).toBe(100);
  });

  test('never passes its total, whatever is read twice or beyond it', () => {
    const count = countProgress([untouched('pools', 'a', 'b')]);
    for (let round = 0; round < 5; round += 1) {
      count.complete('pools', 'a', { from: 0, to: 5000 });
      expect(count.of('pools')).toEqual({ done: 1000, total: 2000 });
    }
  });

  test('counts a scope that is found on the way as more work', () => {
    const count = countProgress([untouched('pools')]);
    expect(count.of('pools')).toEqual({ done: 0, total: 0 });
    count.complete('pools', 'a', { from: 1000, to: 1250 });
    count.complete('pools', 'b', undefined);
    expect(count.of('pools')).toEqual({ done: 250, total: 2000 });
  });

  test('continues from an earlier run, and counts coverage that did not come from its pages', () => {
    const count = countProgress([
      { dataset: 'blocks', range, missing: new Map([['', [{ from: 1900, to: 2000 }]]]) },
    ]);
    expect(percentOf(count.all())).toBe(90);
    count.replaceLeft('blocks', []);
    expect(percentOf(count.all())).toBe(100);
  });

  test('is 100 % only if all is done', () => {
    expect(percentOf({ done: 999_999, total: 1_000_000 })).toBe(99.9);
    expect(percentOf({ done: 0, total: 1 })).toBe(0);
  });
});
