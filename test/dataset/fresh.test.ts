import { expect, it } from 'vitest';
import { freshBehind, nameOf } from '../../src/dataset/fresh.ts';

const at = (utime: number, id: string) => ({ utime, lt: '1', id });

it('remembers what a page has brought of the second where it ended', () => {
  const first = freshBehind({ after: 99, but: [] }, [at(100, 'a'), at(103, 'b'), at(107, 'c')], 107);
  expect(first).toEqual({ after: 106, but: [nameOf(at(107, 'c'))] });
  const inside = freshBehind(first, [at(107, 'c'), at(107, 'd')], undefined);
  expect(inside?.after).toBe(106);
  expect(new Set(inside?.but)).toEqual(new Set(['107 c', '107 d']));
  expect(freshBehind(undefined, [at(107, 'd')], 107)).toBeUndefined();
  expect(freshBehind(inside, [at(107, 'd'), at(110, 'e')], 200)).toEqual({ after: 199, but: [] });
});

it('takes a record that comes again with another time for another one', () => {
  expect(nameOf(at(107, 'a'))).not.toBe(nameOf(at(108, 'a')));
});

it('gives up where a second has more records than are worth remembering', () => {
  const many = Array.from({ length: 10_001 }, (_, index) => at(107, String(index)));
  expect(freshBehind({ after: 106, but: [] }, many, undefined)).toBeUndefined();
});
