import * as z from 'zod';
import { defineJob } from '../src/dataset/job.ts';
import { forward } from '../src/dataset/paginators/forward.ts';
import { action_accounts, action_transactions, actions } from '../src/tables/ton/actions.ts';
import { messages, transactions } from '../src/tables/ton/transactions.ts';
import { trace_nodes, traces } from '../src/tables/ton/traces.ts';
import {
  hash,
  optionalHash,
  count,
  flag,
  requiredInt64,
  requiredSeconds,
  text,
  texts,
  timeOf,
} from '../src/records/members.ts';
import {
  canonicalOf,
  withOtherForms,
  extraOutside,
  extraWithin,
  NOTHING,
  type Extra,
  doubledWithin,
  noteCopy,
  TWICE,
  column,
  elsewhere,
  spread,
  givenLayout,
  rowLayoutOf,
  type Put,
} from '../src/dataset/declaration/record.ts';
import { action, actionRows } from '../src/records/action.ts';
import {
  messageRow,
  receivedMessage,
  sentMessages,
  transaction,
  transactionRow,
  type Transaction,
  message,
  type Message,
} from '../src/records/transaction.ts';

/**
 * A node of the tree of `trace`: a transaction and those that its messages started. The document puts the bodies of
 * transaction and message into it. Servers send their hashes, and put the bodies into the trace's `transactions`.
 */
const node = z.strictObject({
  tx_hash: optionalHash,
  in_msg_hash: optionalHash,
  transaction: transaction.nullish(),
  in_msg: message.nullish(),
  children: z.array(z.unknown()).nullish(),
});

/** A node of the tree, without its children. */
interface TraceNode {
  /** Dotted path within the trace: `trace.children.0`. Built only on request, because a chain is deep. */
  readonly path: () => string;
  readonly tx_hash: string;
  /** False if only the body of its transaction names the node. */
  readonly named: boolean;
  /** Hash of the parent's transaction; undefined for the root. */
  readonly parent: string | undefined;
  /** Index among the parent's children, from 0. */
  readonly position: number;
  readonly in_msg_hash: string | null | undefined;
  /** Number of children; null if the server sends null instead of a list. */
  readonly children: number | null;
  readonly transaction: Transaction | null | undefined;
  readonly in_msg: Message | null | undefined;
}

/** A node that is not parsed yet. */
interface UnreadNode {
  readonly value: unknown;
  /** Its parent; undefined for the root. */
  readonly above: UnreadNode | undefined;
  readonly position: number;
}

/** Most path steps of reported nodes in total: in a deep chain, each of thousands of nodes has thousands. */
const MOST_STEPS = 2_000_000;

/**
 * The tree of a trace, as the server sends it: `nodesOf` takes it apart. A trace may be a chain of thousands of
 * transactions, so it is walked without recursion. Unknown members and mismatches are reported with their paths, like
 * those of a schema for the whole tree. A tree with too many of them does not fit.
 */
export const traceTree = withOtherForms(
  z.unknown().check(({ value, issues }) => {
    let steps = 0;
    for (const unread of unreadNodes(value)) {
      const twice = doubledWithin(node, unread.value);
      if (twice !== undefined)
        issues.push({ code: 'custom', path: [...pathOf(unread), ...twice], message: TWICE, input: value });
      const reading = node.safeParse(unread.value);
      if (reading.success && nameOf(reading.data) !== undefined) continue;
      const found = issuesOf(reading.error, unread);
      issues.push(...found);
      steps += found.reduce((sum, { path = [] }) => sum + path.length, 0);
      if (steps <= MOST_STEPS) continue;
      const message = 'too many nodes of the tree have unknown members or do not fit';
      issues.push({ code: 'custom', message, path: pathOf(unread), input: undefined });
      break;
    }
  }),
  canonicalTree,
);

/** The nodes of a tree that fits its schema, parents first. */
function nodesOf(tree: unknown): TraceNode[] {
  if (tree === undefined || tree === null) return [];
  const read = new Map<UnreadNode, z.output<typeof node> | undefined>();
  return unreadNodes(tree).flatMap((unread) => {
    read.set(unread, node.safeParse(unread.value).data);
    return takeNode(unread, (of) => read.get(of)) ?? [];
  });
}

/** A copy of the tree whose nodes are in the form of their schema. */
function canonicalTree(tree: unknown): unknown {
  const whole: { children: unknown[] } = { children: [tree] };
  const unread: { readonly children: unknown[] }[] = [whole];
  for (let above = unread.pop(); above !== undefined; above = unread.pop()) {
    for (const [position, child] of above.children.entries()) {
      if (typeof child !== 'object' || child === null) continue;
      const read = canonicalOf(node, child);
      const copy = { ...(typeof read === 'object' ? read : child) };
      noteCopy(copy, child);
      above.children[position] = copy;
      const children = [...childrenIn(child)];
      if (children.length === 0) continue;
      Object.assign(copy, { children });
      unread.push({ children });
    }
  }
  return whole.children[0];
}

/** The nodes of a tree, parents first, including those below a node that does not fit: their errors count, too. */
function unreadNodes(tree: unknown): UnreadNode[] {
  const found: UnreadNode[] = [];
  const stack: UnreadNode[] = [{ value: tree, above: undefined, position: 0 }];
  for (let unread = stack.pop(); unread !== undefined; unread = stack.pop()) {
    found.push(unread);
    const children = childrenIn(unread.value);
    for (let position = children.length - 1; position >= 0; position--)
      stack.push({ value: children[position], above: unread, position });
  }
  return found;
}

function childrenIn(value: unknown): readonly unknown[] {
  const children: unknown =
    typeof value === 'object' && value !== null && 'children' in value ? value.children : undefined;
  return Array.isArray(children) ? children : [];
}

function nameOf(read: z.output<typeof node>): string | undefined {
  return read.tx_hash ?? read.transaction?.hash;
}

/** Undefined for a node that names no transaction. */
function takeNode(
  unread: UnreadNode,
  readOf: (unread: UnreadNode) => z.output<typeof node> | undefined,
): TraceNode | undefined {
  const read = readOf(unread);
  const hash = read && nameOf(read);
  if (read === undefined || hash === undefined) return undefined;
  const above = unread.above && readOf(unread.above);
  return {
    path: () => ['trace', ...pathOf(unread)].join('.'),
    tx_hash: hash,
    named: read.tx_hash != null,
    parent: above && nameOf(above),
    position: unread.position,
    in_msg_hash: read.in_msg_hash,
    children: read.children?.length ?? null,
    transaction: read.transaction,
    in_msg: read.in_msg,
  };
}

function pathOf(unread: UnreadNode): PropertyKey[] {
  const path: PropertyKey[] = [];
  for (let at = unread; at.above !== undefined; at = at.above) path.push(at.position, 'children');
  return path.reverse();
}

function issuesOf(error: z.ZodError | undefined, unread: UnreadNode): z.core.$ZodRawIssue[] {
  const path = pathOf(unread);
  if (error === undefined) {
    return [
      { code: 'custom', path: [...path, 'tx_hash'], message: 'names no transaction', input: unread.value },
    ];
  }
  return error.issues.map((issue) => {
    const at = [...path, ...issue.path];
    return issue.code === 'unrecognized_keys'
      ? { code: issue.code, keys: issue.keys, path: at, input: {} }
      : { code: 'custom', message: issue.message, path: at, input: unread.value };
  });
}

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

type Trace = z.output<typeof trace>;

const rowLayout = rowLayoutOf(traces, trace);
const nodeLayout = givenLayout(trace_nodes);

/**
 * Puts the rows of a trace: its own, its tree, and its transactions, messages and actions. `extra` has the members that
 * the schema does not name, with paths within the trace.
 */
function traceRows(record: Trace, extra: Extra, put: Put): void {
  const nodes = nodesOf(record.trace);
  const outside = extraOutside(extra, ['transactions', 'actions']);
  put(rowLayout, record, {}, withAnomalies(record, nodes, outside));
  for (const node of nodes) put(nodeLayout, null, nodeRow(record, node));
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
 * Messages that the tree has apart from transactions. If one has no time of its own, it gets the trace's first time.
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
 * them. If a server sends them anyway, they are stored like that dataset's rows, and its next reading replaces
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

export default defineJob({
  title: 'Finished chains of messages as trees, with their transactions and messages',
  core: true,
  path: '/api/v3/traces',
  params: { include_actions: false, x_no_address_book: true, x_no_metadata: true },
  list: 'traces',
  index: { columns: 'traces (end_utime desc, trace_id desc)', of: 'utime' },
  // A trace contains about ten transactions. For more traces than this, a server takes longer than its own
  // limit of 3 s.
  paginator: forward({ order: 'total', maxSize: 200 }),
  record: trace,
  position: { utime: 'end_utime', lt: 'end_lt', id: ['trace_id'] },
  tables: { traces, trace_nodes, transactions, messages, actions, action_accounts, action_transactions },
  rows: traceRows,
  // The traces that ended in the block.
  byBlock: { path: '/api/v3/traces', param: 'mc_seqno' },
  alsoHolds: { dataset: 'transactions', countedBy: 'blocks' },
  checks: { traces: true },
  grade: {
    grade: 'proved',
    proves:
      'all transactions that a complete trace counts are stored; no finished trace of stored transactions is missing',
    limitations: 'changed values of a trace other than its number of transactions',
  },
});
