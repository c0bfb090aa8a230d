import { describe, expect, test } from 'vitest';
import { nearestName } from '../src/nearest.ts';

const NAMES = [
  'core',
  'swaps',
  'ETL_SINCE',
  'ETL_LISTEN',
  'transactions',
  'MAX_ETL_ATTEMPTS',
  'ETL_ATTEMPTS',
  'jetton_transfers',
];

describe('the suggested name', () => {
  test.each([
    ['differs in a letter', 'ETL_SINCEE', 'ETL_SINCE'],
    ['has letters in another order', 'transactoins', 'transactions'],
    ['contains the word', 'transfers', 'jetton_transfers'],
    ['is the shortest that contains the word', 'ATTEMP', 'ETL_ATTEMPTS'],
    ['is none, if the word shares little with any', 'ETL_HTTP_PORT', undefined],
    ['is none, if the word is too short', 'x', undefined],
    ['differs in one letter of a short word', 'cores', 'core'],
    ['is none, if half of a short word differs', 'nope', undefined],
    ['is none, if half of another short word differs', 'cube', undefined],
    ['differs in two letters of a word of five', 'sawps', 'swaps'],
  ])('%s', (_, word, expected) => {
    expect(nearestName(word, NAMES)).toBe(expected);
  });
});
