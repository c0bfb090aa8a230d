import type { BocMaker } from '../network/chain/boc.ts';
import { NONE } from '../network/chain/tables/block-table.ts';
import type { World } from '../network/chain/world.ts';
import { transactionJson, type TransactionJson } from './transaction-json.ts';

/** A node of the tree. Children are null if all messages went outside. */
export interface TraceNodeJson {
  readonly tx_hash: string;
  readonly in_msg_hash?: string;
  readonly children: readonly TraceNodeJson[] | null;
}

/** A complete trace as v3 prints it. Its actions are added by the route where they are asked for. */
export interface TraceJson {
  readonly trace_id: string;
  readonly external_hash: string | null;
  readonly mc_seqno_start: string;
  readonly mc_seqno_end: string;
  readonly start_lt: string;
  readonly start_utime: number;
  readonly end_lt: string;
  readonly end_utime: number;
  readonly trace_info: {
    readonly trace_state: string;
    readonly messages: number;
    readonly transactions: number;
    readonly pending_messages: number;
    readonly classification_state: string;
  };
  readonly is_incomplete: boolean;
  readonly trace: TraceNodeJson;
  readonly transactions_order: readonly string[];
  readonly transactions: Readonly<Record<string, TransactionJson>>;
}

function node(world: World, transaction: number): TraceNodeJson {
  const { transactions } = world;
  const message = transactions.inMessage.get(transaction);
  // By (lt, account), and not in the order in which they were sent for.
  const inOrder = world.childrenOf(transaction).sort((a, b) => a - b);
  const children = inOrder.map((child) => node(world, child));
  return {
    tx_hash: world.hashes('transaction').text(transaction),
    ...(message === NONE ? {} : { in_msg_hash: world.hashes('message').text(message) }),
    children: children.length === 0 && transactions.outCount.get(transaction) > 0 ? null : children,
  };
}

/** The masterchain block with which the last of a trace's transactions was registered; NONE while one waits. */
export function lastSeqno(world: World, trace: number): number {
  const ticks = world.transactionsOfTrace(trace).map((row) => world.tickOf(row));
  return ticks.includes(NONE) ? NONE : world.seqnoOfTick(Math.max(...ticks));
}

export function traceJson(world: World, bocs: BocMaker, trace: number): TraceJson {
  const { traces, transactions, messages } = world;
  const rows = world.transactionsOfTrace(trace);
  const root = traces.root.get(trace);
  const began = transactions.inMessage.get(root);
  const external = began !== NONE && messages.isExternalIn(began);
  const bodies = rows.map((row) => transactionJson(world, bocs, row));
  return {
    trace_id: world.hashes('transaction').text(root),
    external_hash: external ? world.hashes('message').text(began) : null,
    mc_seqno_start: String(world.seqnoOfTick(world.tickOf(root))),
    mc_seqno_end: String(lastSeqno(world, trace)),
    start_lt: String(transactions.lt.get(root)),
    start_utime: world.utimeOf(root),
    end_lt: String(transactions.lt.get(traces.last.get(trace))),
    end_utime: traces.endUtime.get(trace),
    trace_info: {
      trace_state: 'complete',
      messages: traces.messages.get(trace),
      transactions: rows.length,
      pending_messages: 0,
      classification_state: 'unclassified',
    },
    is_incomplete: false,
    trace: node(world, root),
    transactions_order: bodies.map((body) => body.hash),
    transactions: Object.fromEntries(bodies.map((body) => [body.hash, body])),
  };
}
