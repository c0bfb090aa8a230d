import { expect, test } from 'vitest';
import { byBlock, type ByBlockCursor } from '../../../src/dataset/paginators/seqnos.ts';

const SPAN = { from: 100, to: 105 };
const rows = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ utime: 100, lt: '1', id: String(index) }));

test('reads each block to its end, by offset if it fills a page, and completes the range with the last one', () => {
  const records = new Map([
    [7, 4],
    [8, 0],
    [9, 5],
  ]);
  const paginator = byBlock(() => [...records.keys()], { param: 'seqno', maxSize: 1000 });
  const asked: string[] = [];
  const completed: unknown[] = [];
  let cursor: ByBlockCursor | undefined = paginator.start(SPAN);
  while (cursor !== undefined) {
    const { seqno, offset, limit, sort } = paginator.request(cursor, 2);
    asked.push(`${String(seqno)}+${String(offset)}`);
    expect([limit, sort]).toEqual([2, 'asc']);
    const left = Math.max(0, (records.get(Number(seqno)) ?? 0) - Number(offset));
    const step = paginator.next(cursor, { size: 2, positions: rows(Math.min(2, left)) });
    if (step.completed !== undefined) completed.push(step.completed);
    cursor = step.cursor;
  }
  expect(asked).toEqual(['7+0', '7+2', '7+4', '8+0', '9+0', '9+2', '9+4']);
  expect(completed).toEqual([SPAN]);
});
