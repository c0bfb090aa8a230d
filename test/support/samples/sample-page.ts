import transactionsJob from '../../../jobs/transactions.ts';
import { linesOfRecords, type Lines } from '../../../src/write/lines.ts';
import type { Range } from '../../../src/range.ts';
import { sampleTransaction } from './sample-records.ts';

/** The lines of so many transactions without messages, evenly spread over a range. */
export function samplePage({ from, to }: Range, count: number): Lines[] {
  const sample = sampleTransaction();
  const records = Array.from({ length: count }, (_, index) => ({
    ...sample,
    now: from + Math.floor(((to - from) * index) / count),
    lt: String(1_000_000 + index),
    account: `0:${'A'.repeat(64)}`,
    hash: `${String(index).padStart(42, '0')}A=`,
    in_msg: null,
    out_msgs: [],
  }));
  const { accepted } = transactionsJob.read(records);
  return linesOfRecords(transactionsJob.tables, accepted);
}
