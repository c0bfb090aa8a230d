import * as z from 'zod';
import { canonicalOf, withOtherForms } from '../dataset/declaration/canonical.ts';
import { doubledWithin, noteCopy, TWICE } from '../dataset/declaration/doubled.ts';
import { message, type Message } from './message.ts';
import { optionalHash } from './members/form.ts';
import { transaction, type Transaction } from './transaction.ts';

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
export interface TraceNode {
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
export function nodesOf(tree: unknown): TraceNode[] {
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
