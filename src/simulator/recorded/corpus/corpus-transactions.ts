import type { TransactionSource } from '../../ledger.ts';
import type { MessageEntry } from './corpus-messages.ts';
import { at, indexes, sortedWithin } from './recorded-rows.ts';
import type { RecordedTransaction } from './recorded.ts';

/** Recorded transactions as a ledger shows them. */
export function corpusTransactions(
  rows: readonly RecordedTransaction[],
  messages: readonly MessageEntry[],
): TransactionSource {
  const byReceiver = new Map(messages.map((entry, index) => [entry.receiver, index]));
  const byHash = new Map(messages.map((entry, index) => [entry.message.hash, index]));
  const outMessages = (row: number): number[] =>
    at(rows, row)
      .out_msgs.map((message) => byHash.get(message.hash))
      .filter((index) => index !== undefined);
  return {
    byLt: (range) => sortedWithin(rows, (row) => Number(row.lt), range),
    byTime: (range) => sortedWithin(rows, (row) => row.now, range),
    ofAccounts: (addresses) => indexes(rows, (row) => addresses.includes(row.account)),
    ofHashes: (hashes) => indexes(rows, (row) => hashes.includes(row.hash)),
    ofMasterchainBlock: (seqno) => indexes(rows, (row) => row.mc_block_seqno === seqno),
    visible: () => true,
    lt: (row) => Number(at(rows, row).lt),
    utime: (row) => at(rows, row).now,
    mcSeqno: (row) => at(rows, row).mc_block_seqno,
    account: (row) => at(rows, row).account,
    hash: (row) => at(rows, row).hash,
    block: (row) => at(rows, row).block_ref,
    inMessage: (row) => byReceiver.get(row),
    outMessages,
    texts: (page) => page.map((row) => JSON.stringify(at(rows, row))).join(','),
    addresses: (row) => {
      const { account, in_msg: received, out_msgs: sent } = at(rows, row);
      const ends = [received?.source, ...sent.map((message) => message.destination)];
      return [account, ...ends.filter((end) => end !== null && end !== undefined)];
    },
  };
}
