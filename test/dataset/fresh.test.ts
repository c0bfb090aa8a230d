import { expect, it } from 'vitest';
import { freshBehind, isFresh, isUnchanged, nameOf } from '../../src/dataset/fresh.ts';

const NOTHING = { after: 99, but: new Map() };
const at = (utime: number, id: string) => ({ utime, lt: '1', id });

it('remembers what a page has brought of the second where it ended', () => {
  const first = freshBehind(NOTHING, [at(100, 'a'), at(103, 'b'), at(107, 'c')], 107);
  expect(first).toEqual({ after: 106, but: new Map([[nameOf(at(107, 'c')), undefined]]) });
  const inside = freshBehind(first, [at(107, 'c'), at(107, 'd')], undefined);
  expect(inside?.after).toBe(106);
  expect(new Set(inside?.but.keys())).toEqual(new Set(['107 c', '107 d']));
  expect(freshBehind(undefined, [at(107, 'd')], 107)).toBeUndefined();
  expect(freshBehind(inside, [at(107, 'd'), at(110, 'e')], 200)).toEqual({ after: 199, but: new Map() });
});

it('leaves out a record that was written as it is, and no other one', () => {
  const written = new Map([['107 c', 'like this']]);
  const fresh = freshBehind(NOTHING, [at(100, 'a'), at(107, 'b'), at(107, 'c')], 107, {
    digests: written,
    halves: new Map(),
  })!;
  const isLeftOut = (utime: number, id: string, digest: string | undefined) =>
    isUnchanged(fresh, at(utime, id), () => digest);
  expect(isLeftOut(107, 'c', 'like this')).toBe(true);
  expect(isLeftOut(107, 'c', 'with more')).toBe(false);
  expect(isLeftOut(107, 'c', undefined)).toBe(false);
  // Seen by the page, and not written by it, or nobody knows what it was like.
  expect(isLeftOut(107, 'b', undefined)).toBe(false);
  expect(isLeftOut(108, 'c', 'like this')).toBe(false);
  expect(['b', 'c', 'd'].map((id) => isFresh(fresh, at(107, id)))).toEqual([false, false, true]);
});

it('takes a record that comes again with another time for another one', () => {
  expect(nameOf(at(107, 'a'))).not.toBe(nameOf(at(108, 'a')));
});

it('gives up where a second has more records than are worth remembering', () => {
  const many = Array.from({ length: 10_001 }, (_, index) => at(107, String(index)));
  expect(freshBehind({ after: 106, but: new Map() }, many, undefined)).toBeUndefined();
});

it('knows nothing of halves behind a page of which nobody knows what it has brought', () => {
  const fresh = { ...NOTHING, halves: new Map([['stored', 1]]) };
  const told = { digests: new Map(), halves: new Map() };
  expect(freshBehind(fresh, [at(107, 'a')], 107, told)?.halves).toEqual(fresh.halves);
  expect(freshBehind(fresh, [at(107, 'a')], 107)?.halves).toBeUndefined();
});
