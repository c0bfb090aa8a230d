import type { TokenParties, TokenSource } from '../../ledger.ts';
import type { RecordedToken } from './recorded.ts';
import { at, sortedWithin } from './recorded-rows.ts';

/** Recorded transfers or burns, served as they were recorded. `members`: what each kind calls its parties. */
export function corpusTokens(
  rows: readonly RecordedToken[],
  members: Readonly<Record<keyof TokenParties, string>>,
): TokenSource {
  const text = (row: RecordedToken, member: string): string => {
    const value = row[member];
    return typeof value === 'string' ? value : '';
  };
  return {
    byLt: (range) => sortedWithin(rows, (row) => Number(row.transaction_lt), range),
    byTime: (range) => sortedWithin(rows, (row) => row.transaction_now, range),
    visible: () => true,
    lt: (row) => Number(at(rows, row).transaction_lt),
    utime: (row) => at(rows, row).transaction_now,
    parties: (row) => {
      const recorded = at(rows, row);
      return {
        from: text(recorded, members.from),
        to: text(recorded, members.to),
        item: text(recorded, members.item),
        group: text(recorded, members.group),
      };
    },
    text: (row) => JSON.stringify(at(rows, row)),
  };
}
