import type { BocMaker } from '../chain/boc.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';

/** One action of a trace, as the classifier sees it. Numbers are rows of the network. */
export interface NetworkAction {
  /** The type as it is stored and filtered by. */
  readonly type: string;
  /** Types of the composite actions that it is a part of: where one of them is supported, this one is hidden. */
  readonly ancestors: readonly string[];
  /** Ascending by (lt, account). */
  readonly transactions: readonly number[];
  readonly success: boolean | null;
  readonly details: () => object;
}

/** A message of a trace's first transaction, with everything that followed from it. */
export interface Leg {
  readonly world: World;
  readonly bocs: BocMaker;
  readonly trace: number;
  readonly message: number;
  /** The transaction that received it. */
  readonly receiver: number;
  /** The sender's transaction and all that followed from the message, ascending. */
  readonly transactions: readonly number[];
}

/** The leg that begins with a message of `sender`; undefined for what left the network. */
export function legOf(world: World, bocs: BocMaker, sender: number, message: number): Leg | undefined {
  const receiver = world.messages.inTransaction.get(message);
  if (receiver === NONE) return undefined;
  const rows = [sender, receiver];
  for (let at = 1; at < rows.length; at++) rows.push(...world.childrenOf(rows[at] ?? NONE));
  const transactions = rows.sort((a, b) => a - b);
  return { world, bocs, trace: world.messages.trace.get(message), message, receiver, transactions };
}

export function succeeded({ world, receiver }: Leg): boolean {
  return world.transactions.kindOf(receiver) === 'ok';
}
