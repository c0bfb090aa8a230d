import { hash, optionalHash } from './members/form.ts';
import { z } from 'zod';
import { extraOutside, extraWithin, orNull, type Extra } from '../dataset/record.ts';
import type { messages } from '../db/schema/ton/messages.ts';
import type { trace_edges, traces } from '../db/schema/ton/traces.ts';
import type { transactions } from '../db/schema/ton/transactions.ts';
import { formatTime } from '../range.ts';
import { action, actionRows, type ActionRows } from './action.ts';
import { messageRow } from './message.ts';
import { count, flag, requiredInt64, requiredSeconds, text, texts } from './members/scalar.ts';
import { traceTree, type TraceNode } from './trace-tree.ts';
import { transaction, transactionRows, type Transaction } from './transaction.ts';

/** A masterchain seqno: a string of digits on the wire, though a number everywhere else. */
const seqno = z
  .union([z.string().regex(/^\d{1,10}$/), z.int32()])
  .transform(Number)
  .pipe(z.int32())
  .nullish();

const traceInfo = z.strictObject({
  trace_state: text,
  messages: count,
  transactions: count,
  pending_messages: count,
  classification_state: text,
});

/**
 * One element of `traces` of GET /api/v3/traces: a finished chain of messages. Its tree names transactions by hash;
 * their bodies stand in `transactions`, their order (by lt and account) in `transactions_order`. A trace with more
 * transactions than its server can handle comes without them, marked `is_incomplete`, and says why in `warning`.
 */
export const trace = z.strictObject({
  trace_id: hash,
  external_hash: optionalHash,
  mc_seqno_start: seqno,
  mc_seqno_end: seqno,
  start_lt: requiredInt64,
  start_utime: requiredSeconds,
  end_lt: requiredInt64,
  end_utime: requiredSeconds,
  trace_info: traceInfo.nullish(),
  is_incomplete: flag,
  warning: text,
  actions: z.array(action).nullish(),
  trace: traceTree.nullish(),
  transactions_order: texts,
  transactions: z.record(z.string(), transaction).nullish(),
});

export type Trace = z.output<typeof trace>;

type TraceRow = typeof traces.$inferInsert;
type EdgeRow = typeof trace_edges.$inferInsert;
type MessageRow = typeof messages.$inferInsert;

/** The rows of one trace: its own, its tree, and all that it holds of transactions, messages and actions. */
export interface TraceRows extends ActionRows {
  readonly traces: readonly TraceRow[];
  readonly trace_edges: readonly EdgeRow[];
  readonly transactions: readonly (typeof transactions.$inferInsert)[];
  readonly messages: readonly MessageRow[];
}

/** Rows of a trace. `extra` are the members that the schema does not name, with paths as within the trace. */
export function traceRows(record: Trace, extra: Extra): TraceRows {
  const nodes = record.trace ?? [];
  return {
    traces: [traceRow(record, nodes, extra)],
    trace_edges: nodes.map((node) => edgeRow(record, node)),
    ...containedRows(record, nodes, extra),
    ...embeddedActions(record, extra),
  };
}

function traceRow(record: Trace, nodes: readonly TraceNode[], extra: Extra): TraceRow {
  const info = record.trace_info;
  return {
    utime: formatTime(record.end_utime),
    trace_id: record.trace_id,
    external_hash: record.external_hash,
    mc_seqno_start: record.mc_seqno_start,
    mc_seqno_end: record.mc_seqno_end,
    start_utime: formatTime(record.start_utime),
    start_lt: record.start_lt,
    end_lt: record.end_lt,
    trace_state: info?.trace_state,
    messages: info?.messages,
    transactions: info?.transactions,
    pending_messages: info?.pending_messages,
    classification_state: info?.classification_state,
    is_incomplete: record.is_incomplete,
    warning: record.warning,
    extra: orNull({
      ...extraOutside(extra, ['transactions', 'actions']),
      ...oddOrder(record, nodes),
      ...Object.fromEntries(nodes.flatMap(bodies)),
    }),
  };
}

function edgeRow({ end_utime, trace_id, end_lt }: Trace, node: TraceNode): EdgeRow {
  return {
    utime: formatTime(end_utime),
    trace_id,
    tx_hash: node.tx_hash,
    parent_tx_hash: node.parent,
    in_msg_hash: node.in_msg_hash,
    position: node.position,
    children: node.children,
    end_lt,
  };
}

/**
 * Transactions and messages of the trace. The senders' copies of messages stand first, whatever the order of the
 * transactions: where a page holds a message twice, the first row is the one that is kept.
 */
function containedRows(record: Trace, nodes: readonly TraceNode[], extra: Extra) {
  const sent: MessageRow[] = [];
  const received: MessageRow[] = [];
  const rows = transactionsOf(record, nodes).map((transaction) => {
    const inside = extraWithin(extra, `transactions.${transaction.hash}`) ?? {};
    const own = transactionRows(transaction, inside);
    const outs = transaction.out_msgs?.length ?? 0;
    sent.push(...own.messages.slice(0, outs));
    received.push(...own.messages.slice(outs));
    return own.transactions;
  });
  return { transactions: rows.flat(), messages: [...sent, ...received, ...looseMessages(record, nodes)] };
}

/** Those of the map, and those that only the tree holds. */
function transactionsOf({ transactions: map }: Trace, nodes: readonly TraceNode[]): Transaction[] {
  const inTree = nodes.flatMap(({ transaction }) => transaction ?? []);
  return [...Object.values(map ?? {}), ...inTree.filter(({ hash }) => map?.[hash] === undefined)];
}

/** Messages that the tree holds beside their transactions; without a time of their own they get the trace's first. */
function looseMessages({ start_utime }: Trace, nodes: readonly TraceNode[]): MessageRow[] {
  return nodes.flatMap(({ in_msg, transaction }) =>
    in_msg == null
      ? []
      : [
          messageRow(in_msg, {
            now: transaction?.now ?? start_utime,
            sender: in_msg.out_msg_tx_hash,
            extra: null,
          }),
        ],
  );
}

/**
 * No server sends actions that it was not asked for, and they are not asked for here: actions change, and their own
 * dataset exchanges them. Where they come all the same they are rows like those; that dataset's reading replaces them.
 */
function embeddedActions({ actions }: Trace, extra: Extra): ActionRows {
  const rows = (actions ?? []).map((action, index) =>
    actionRows(action, extraWithin(extra, `actions.${index}`) ?? {}),
  );
  return {
    actions: rows.flatMap((row) => row.actions),
    action_accounts: rows.flatMap((row) => row.action_accounts),
    action_transactions: rows.flatMap((row) => row.action_transactions),
  };
}

/** Bodies in the tree, where servers send hashes: their rows are written, and where they stood is remembered. */
function bodies({ path, named, tx_hash, transaction, in_msg }: TraceNode): [string, unknown][] {
  if (named && transaction == null && in_msg == null) return [];
  const stood: [string, unknown][] = [];
  if (!named) stood.push([`${path()}.tx_hash`, null]);
  if (transaction != null) stood.push([`${path()}.transaction`, tx_hash]);
  if (in_msg != null) stood.push([`${path()}.in_msg`, in_msg.hash]);
  return stood;
}

/**
 * `transactions` and `transactions_order` have no columns: they are the transactions of the tree, by lt and account.
 * Where they were sent otherwise, the order that was sent is kept, null for none.
 */
function oddOrder(
  { transactions: map, transactions_order: order }: Trace,
  nodes: readonly TraceNode[],
): Extra {
  const found = nodes.flatMap(({ tx_hash }) => map?.[tx_hash] ?? []).sort(byPlace);
  const asRuled =
    found.length === nodes.length &&
    order?.length === (found.length === 0 ? undefined : found.length) &&
    Object.keys(map ?? {}).length === found.length &&
    found.every(({ hash }, index) => hash === order?.[index]);
  return asRuled
    ? {}
    : { transactions_order: order ?? null, transactions: map == null ? null : Object.keys(map) };
}

function byPlace(a: Transaction, b: Transaction): number {
  return a.lt.length - b.lt.length || compare(a.lt, b.lt) || compare(a.account, b.account);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
