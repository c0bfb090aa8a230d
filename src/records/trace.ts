import { hash, optionalHash } from './members/form.ts';
import * as z from 'zod';
import { canonicalOf, withOtherForms } from '../dataset/declaration/canonical.ts';
import { column, elsewhere, spread } from '../dataset/declaration/column-mapping.ts';
import { givenLayout, rowLayoutOf, type Put } from '../dataset/declaration/row-layout.ts';
import { extraOutside, extraWithin, NOTHING, type Extra } from '../dataset/declaration/record.ts';
import { trace_nodes, traces } from '../tables/ton/traces.ts';
import { action, actionRows } from './action.ts';
import { messageRow } from './message.ts';
import { count, flag, requiredInt64, requiredSeconds, text, texts, timeOf } from './members/scalar.ts';
import { nodesOf, traceTree, type TraceNode } from './trace-tree.ts';
import {
  receivedMessage,
  sentMessages,
  transaction,
  transactionRow,
  type Transaction,
} from './transaction.ts';

/** A masterchain seqno: a string of digits here, although it is a number everywhere else. */
const seqno = z
  .union([z.string().regex(/^\d{1,10}$/), z.int32()])
  .refine((value) => Number(value) < 2 ** 31, 'is not a seqno of 32 bits')
  .nullish();

const traceInfo = z.strictObject({
  trace_state: text,
  messages: count,
  transactions: count,
  pending_messages: count,
  classification_state: text,
});

/**
 * One element of `traces` of GET /api/v3/traces: a finished chain of messages. Its tree names transactions by hash.
 * Their bodies are in `transactions`, and their order (by lt and account) is in `transactions_order`. A trace with more
 * transactions than its server can handle comes without them. It is marked `is_incomplete`, and `warning` has the
 * reason.
 */
export const trace = z.strictObject({
  trace_id: hash,
  external_hash: optionalHash,
  mc_seqno_start: seqno,
  mc_seqno_end: seqno,
  start_lt: requiredInt64,
  start_utime: requiredSeconds,
  end_lt: requiredInt64,
  end_utime: column('utime', requiredSeconds),
  trace_info: spread('', traceInfo.nullish()),
  is_incomplete: flag,
  warning: text,
  actions: elsewhere(z.array(action).nullish()),
  trace: elsewhere(traceTree.nullish()),
  transactions_order: elsewhere(
    withOtherForms(texts, (order) => (Array.isArray(order) ? order.map(hashOf) : order)),
  ),
  transactions: elsewhere(withOtherForms(z.record(z.string(), transaction).nullish(), byHash)),
});

function hashOf(text: unknown): unknown {
  return canonicalOf(hash, text);
}

/** Converts the keys of a map to hashes, unless two of them are forms of one hash. */
function byHash(map: unknown): unknown {
  if (typeof map !== 'object' || map === null) return map;
  const entries = Object.entries(map).map(([name, member]): [string, unknown] => [
    String(hashOf(name)),
    member,
  ]);
  return new Map(entries).size === entries.length ? Object.fromEntries(entries) : map;
}

export type Trace = z.output<typeof trace>;

const rowLayout = rowLayoutOf(traces, trace);
const nodeSheet = givenLayout(trace_nodes);

/**
 * Puts the rows of a trace: its own, its tree, and its transactions, messages and actions. `extra` has the members that
 * the schema does not name, with paths within the trace.
 */
export function traceRows(record: Trace, extra: Extra, put: Put): void {
  const nodes = nodesOf(record.trace);
  const outside = extraOutside(extra, ['transactions', 'actions']);
  put(rowLayout, record, {}, withAnomalies(record, nodes, outside));
  for (const node of nodes) put(nodeSheet, null, nodeRow(record, node));
  containedRows(record, nodes, extra, put);
  embeddedActions(record, extra, put);
}

function withAnomalies(record: Trace, nodes: readonly TraceNode[], extra: Extra | null): Extra {
  return { ...extra, ...unusualOrder(record, nodes), ...Object.fromEntries(nodes.flatMap(bodies)) };
}

function nodeRow({ end_utime, trace_id, end_lt }: Trace, node: TraceNode) {
  return {
    utime: timeOf(end_utime),
    trace_id,
    tx_hash: node.tx_hash,
    parent_tx_hash: node.parent,
    in_msg_hash: node.in_msg_hash,
    position: node.position,
    children: node.children,
    end_lt,
  };
}

/** The transactions and messages of the trace. Senders' copies come first, because the first copy is kept. */
function containedRows(record: Trace, nodes: readonly TraceNode[], extra: Extra, put: Put): void {
  const found = transactionsOf(record, nodes).map((transaction) => ({
    transaction,
    inside: extraWithin(extra, `transactions.${transaction.hash}`) ?? NOTHING,
  }));
  for (const { transaction, inside } of found) transactionRow(transaction, inside, put);
  for (const { transaction, inside } of found) sentMessages(transaction, inside, put);
  for (const { transaction, inside } of found) receivedMessage(transaction, inside, put);
  looseMessages(record, nodes, put);
}

/** The transactions of the map, and those that are only in the tree. */
function transactionsOf({ transactions: map }: Trace, nodes: readonly TraceNode[]): Transaction[] {
  const inTree = nodes.flatMap(({ transaction }) => transaction ?? []);
  return [...Object.values(map ?? {}), ...inTree.filter(({ hash }) => map?.[hash] === undefined)];
}

/**
 * Messages that the tree has beside their transactions. If one has no time of its own, it gets the trace's first time.
 */
function looseMessages({ start_utime }: Trace, nodes: readonly TraceNode[], put: Put): void {
  for (const { in_msg, transaction } of nodes) {
    if (in_msg == null) continue;
    const now = transaction?.now ?? start_utime;
    messageRow(in_msg, { now, sender: in_msg.out_msg_tx_hash, extra: null }, put);
  }
}

/**
 * Servers send actions only on request, and they are not requested here: actions change, and their own dataset replaces
 * them. If a server sends them all the same, they are stored like that dataset's rows, and its next reading replaces
 * them.
 */
function embeddedActions({ actions }: Trace, extra: Extra, put: Put): void {
  for (const [index, action] of (actions ?? []).entries())
    actionRows(action, extraWithin(extra, `actions.${index}`) ?? NOTHING, put);
}

/** Bodies in the tree, where servers send hashes. Their rows are written, and their positions go to `extra`. */
function bodies({ path, named, tx_hash, transaction, in_msg }: TraceNode): [string, unknown][] {
  if (named && transaction == null && in_msg == null) return [];
  const positions: [string, unknown][] = [];
  if (!named) positions.push([`${path()}.tx_hash`, null]);
  if (transaction != null) positions.push([`${path()}.transaction`, tx_hash]);
  if (in_msg != null) positions.push([`${path()}.in_msg`, in_msg.hash]);
  return positions;
}

/**
 * `transactions` and `transactions_order` have no columns: they are the transactions of the tree, by lt and account. If
 * they were sent in another way, the order is kept; null if there was none.
 */
function unusualOrder(
  { transactions: map, transactions_order: order }: Trace,
  nodes: readonly TraceNode[],
): Extra {
  const found = nodes.flatMap(({ tx_hash }) => map?.[tx_hash] ?? []).sort(byPlace);
  const isUsual =
    found.length === nodes.length &&
    order?.length === (found.length === 0 ? undefined : found.length) &&
    Object.keys(map ?? {}).length === found.length &&
    found.every(({ hash }, index) => hash === order?.[index]);
  return isUsual
    ? {}
    : { transactions_order: order ?? null, transactions: map == null ? null : Object.keys(map) };
}

function byPlace(a: Transaction, b: Transaction): number {
  return a.lt.length - b.lt.length || compare(a.lt, b.lt) || compare(a.account, b.account);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
