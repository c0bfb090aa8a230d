import { text } from './members/scalar.ts';
import { z } from 'zod';
import { message, type Message } from './message.ts';
import { transaction, type Transaction } from './transaction.ts';

/**
 * A node of the tree of `trace`: a transaction and those that its messages started. The document puts the bodies of
 * transaction and message into it; servers send their hashes, and the bodies in the trace's `transactions`.
 */
const node = z.strictObject({
  tx_hash: text,
  in_msg_hash: text,
  transaction: transaction.nullish(),
  in_msg: message.nullish(),
  children: z.array(z.unknown()).nullish(),
});

/** A node of the tree, taken out of it. */
export interface TraceNode {
  /** Dotted path within the trace: `trace.children.0`. Put together when it is asked for: a chain is deep. */
  readonly path: () => string;
  readonly tx_hash: string;
  /** False where the node was named by the body of its transaction alone. */
  readonly named: boolean;
  /** Hash of the parent's transaction; undefined for the root. */
  readonly parent: string | undefined;
  /** Place among the parent's children, from 0. */
  readonly position: number;
  readonly in_msg_hash: string | null | undefined;
  /** How many children; null where the server says null instead of a list. */
  readonly children: number | null;
  readonly transaction: Transaction | null | undefined;
  readonly in_msg: Message | null | undefined;
}

/** A node still to be read. */
interface Place {
  readonly value: unknown;
  /** The place of its parent, and the parent's transaction; undefined for the root. */
  readonly above: Place | undefined;
  readonly parent: string | undefined;
  readonly position: number;
}

/** Steps of paths to what is reported, in all: in a deep chain each of thousands of nodes has thousands. */
const MOST_STEPS = 2_000_000;

const parentNode = z.looseObject({ children: z.array(z.unknown()).nullish() });

/**
 * The tree as a list of its nodes, parents first. A trace may be a chain of thousands of transactions, so the walk uses
 * no stack. Unknown members and mismatches are reported with their paths, as a schema of the whole tree would; a tree
 * with too many of them does not fit.
 */
export const traceTree = z.unknown().transform((tree, context): TraceNode[] => {
  const nodes: TraceNode[] = [];
  const places: Place[] = [{ value: tree, above: undefined, parent: undefined, position: 0 }];
  let steps = 0;
  for (let place = places.pop(); place !== undefined; place = places.pop()) {
    const reading = node.safeParse(place.value);
    const taken = reading.success ? takeNode(reading.data, place) : undefined;
    if (taken !== undefined) nodes.push(taken);
    else {
      const issues = issuesOf(reading.error, place);
      context.issues.push(...issues);
      steps += issues.reduce((sum, { path = [] }) => sum + path.length, 0);
      if (steps > MOST_STEPS) {
        const message = 'too many nodes of the tree have unknown members or do not fit';
        context.issues.push({ code: 'custom', message, path: pathOf(place), input: undefined });
        break;
      }
    }
    // Of a node that does not fit too: what is wrong further down is to be reported with it.
    const { children } = reading.data ?? parentNode.safeParse(place.value).data ?? {};
    places.push(...childrenOf(place, children, taken?.tx_hash).reverse());
  }
  return nodes;
});

/** Undefined for a node that names no transaction. */
function takeNode(read: z.output<typeof node>, place: Place): TraceNode | undefined {
  const hash = read.tx_hash ?? read.transaction?.hash;
  if (hash === undefined) return undefined;
  return {
    path: () => ['trace', ...pathOf(place)].join('.'),
    tx_hash: hash,
    named: read.tx_hash != null,
    parent: place.parent,
    position: place.position,
    in_msg_hash: read.in_msg_hash,
    children: read.children?.length ?? null,
    transaction: read.transaction,
    in_msg: read.in_msg,
  };
}

/** Where a node stands in the tree. */
function pathOf(place: Place): PropertyKey[] {
  const path: PropertyKey[] = [];
  for (let at = place; at.above !== undefined; at = at.above) path.push(at.position, 'children');
  return path.reverse();
}

function childrenOf(
  above: Place,
  children: readonly unknown[] | null | undefined,
  parent: string | undefined,
): Place[] {
  return (children ?? []).map((value, position) => ({ value, above, parent, position }));
}

function issuesOf(error: z.ZodError | undefined, place: Place): z.core.$ZodRawIssue[] {
  const path = pathOf(place);
  if (error === undefined) {
    return [
      { code: 'custom', path: [...path, 'tx_hash'], message: 'names no transaction', input: place.value },
    ];
  }
  return error.issues.map((issue) => {
    const at = [...path, ...issue.path];
    return issue.code === 'unrecognized_keys'
      ? { code: issue.code, keys: issue.keys, path: at, input: {} }
      : { code: 'custom', message: issue.message, path: at, input: place.value };
  });
}
