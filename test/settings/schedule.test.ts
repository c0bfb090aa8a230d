import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { parseSchedules } from '../../src/settings/schedule.ts';

describe('a schedule', () => {
  test('is datasets, a range, or both, and a time', () => {
    expect(
      parseSchedules(
        'actions,nft_transfers @ 0 * * * *; 2026-01-01 .. -1h @ 0 3 * * *; blocks -7d..now @ */5 * * * *;',
      ),
    ).toEqual([
      { only: ['actions', 'nft_transfers'], range: undefined, cron: '0 * * * *' },
      { only: undefined, range: { from: '2026-01-01', to: '-1h' }, cron: '0 3 * * *' },
      { only: ['blocks'], range: { from: '-7d', to: 'now' }, cron: '*/5 * * * *' },
    ]);
  });

  test.each([
    'actions',
    '@ 0 * * * *',
    'actions @ every hour',
    'actions @ 61 * * * *',
    'a @ b @ c',
    'a @ 0 0 30 2 *',
    'a @ 0 0 31 4,6,9,11 *',
    'a @ 0 0 0 1 1 * 2020',
  ])('is refused if it is "%s"', (text) => {
    expect(() => parseSchedules(text)).toThrow(UsageError);
  });
});
