import type { BocMaker } from '../chain/boc.ts';
import type { World } from '../chain/world.ts';
import { lastSeqno, traceJson } from '../../json/trace-json.ts';
import type { MessageSource, TraceSource, TransactionSource } from '../../ledger.ts';
import type { Bounds } from '../../bounds.ts';
import { listed, slice, type OrderedRows } from '../../simulator-rows.ts';

/** Traces of a generated network: those that are complete. */
export function chainTraces(
  world: World,
  bocs: BocMaker,
  sources: { readonly transactions: TransactionSource; readonly messages: MessageSource },
): TraceSource {
  const { traces, transactions } = world;
  const endLt = (trace: number): number => transactions.lt.get(traces.last.get(trace));
  const endUtime = (trace: number): number => traces.endUtime.get(trace);
  const ofRows = (rows: OrderedRows): number[] => [
    ...new Set(Array.from({ length: rows.length }, (_, index) => transactions.trace.get(rows.at(index)))),
  ];
  const complete = (found: readonly number[]): OrderedRows =>
    listed(found.filter((trace) => traces.underWay.get(trace) === 0));
  const text = (trace: number, actions: readonly string[] | undefined): string =>
    withActions(JSON.stringify(traceJson(world, bocs, trace)), actions);
  return {
    byLt: (bounds) => rowsWithin(traces.byLt, bounds, endLt),
    byTime: (bounds) => rowsWithin(traces.byTime, bounds, endUtime),
    ofMasterchainBlock: (seqno) => {
      const touched = ofRows(sources.transactions.ofMasterchainBlock(seqno));
      return complete(touched.filter((trace) => lastSeqno(world, trace) === seqno));
    },
    ofTraces: (ids) => {
      const rows = sources.transactions.ofHashes(ids);
      return complete(
        ofRows(rows).filter((trace) =>
          ids.includes(world.hashes('transaction').text(traces.root.get(trace))),
        ),
      );
    },
    ofTransactions: (hashes) => complete(ofRows(sources.transactions.ofHashes(hashes))),
    ofMessages: (hashes) => {
      const rows = sources.messages.ofHashes(hashes);
      return complete(
        Array.from({ length: rows.length }, (_, index) => world.messages.trace.get(rows.at(index))),
      );
    },
    ofAccount: (address) => complete(ofRows(sources.transactions.ofAccounts([address]))),
    visible: (view, trace) =>
      world.transactionsOfTrace(trace).every((row) => sources.transactions.visible(view, row)),
    endLt,
    endUtime,
    texts: (rows, actions) => rows.map((trace) => text(trace, actions?.(trace))).join(','),
    addresses: (trace) =>
      world.transactionsOfTrace(trace).flatMap((row) => sources.transactions.addresses(row)),
  };
}

/** The part of a sorted list whose keys lie within bounds. */
function rowsWithin(
  sorted: World['traces']['byLt'],
  { first, last }: Bounds,
  key: (trace: number) => number,
): OrderedRows {
  return slice((index) => sorted.get(index), sorted.lowerBound(first, key), sorted.lowerBound(last + 1, key));
}

/** A trace's text with the texts of its actions; undefined leaves the member out. */
export function withActions(trace: string, actions: readonly string[] | undefined): string {
  return actions === undefined ? trace : `${trace.slice(0, -1)},"actions":[${actions.join(',')}]}`;
}
