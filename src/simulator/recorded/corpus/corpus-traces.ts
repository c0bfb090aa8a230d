import type { TraceSource } from '../../ledger.ts';
import { withActions } from '../../network/ledger/chain-traces.ts';
import { at, indexes, sortedWithin } from './recorded-rows.ts';
import type { RecordedTrace, RecordedTransaction } from './recorded.ts';

/** Recorded traces as a ledger shows them. */
export function corpusTraces(rows: readonly RecordedTrace[]): TraceSource {
  const transactionsOf = (row: RecordedTrace): RecordedTransaction[] => Object.values(row.transactions);
  return {
    byLt: (range) => sortedWithin(rows, (row) => Number(row.end_lt), range),
    byTime: (range) => sortedWithin(rows, (row) => row.end_utime, range),
    ofMasterchainBlock: (seqno) => indexes(rows, (row) => Number(row.mc_seqno_end) === seqno),
    ofTraces: (ids) => indexes(rows, (row) => ids.includes(row.trace_id)),
    ofTransactions: (hashes) =>
      indexes(rows, (row) => hashes.some((hash) => Object.hasOwn(row.transactions, hash))),
    ofMessages: (hashes) =>
      indexes(rows, (row) =>
        transactionsOf(row).some(({ in_msg: received, out_msgs: sent }) =>
          [received?.hash, received?.hash_norm, ...sent.map((message) => message.hash)].some(
            (hash) => hash !== undefined && hash !== null && hashes.includes(hash),
          ),
        ),
      ),
    ofAccount: (address) =>
      indexes(rows, (row) => transactionsOf(row).some((transaction) => transaction.account === address)),
    visible: () => true,
    endLt: (row) => Number(at(rows, row).end_lt),
    endUtime: (row) => at(rows, row).end_utime,
    texts: (page, actions) =>
      page
        .map((row) => withActions(JSON.stringify({ ...at(rows, row), actions: undefined }), actions?.(row)))
        .join(','),
    addresses: (row) => transactionsOf(at(rows, row)).map((transaction) => transaction.account),
  };
}
