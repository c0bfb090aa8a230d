import { comparable } from './same-record.ts';

type Json = Record<string, unknown>;

/** The part of a trace that is compared; its records are compared as those of their own endpoints. */
export function comparableTrace(record: unknown): unknown {
  const { transactions, actions, trace, ...own } = record as Json;
  return {
    ...(comparable('traces', own) as Json),
    ...(trace != null && { trace: comparableNode(trace as Json) }),
    ...(transactions != null && {
      transactions: Object.fromEntries(
        Object.entries(transactions).map(([hash, transaction]) => [
          hash,
          comparable('transactions', transaction),
        ]),
      ),
    }),
    ...(actions != null && { actions: (actions as Json[]).map((action) => comparable('actions', action)) }),
  };
}

/** `children: null` is kept: it differs from a list, and from a missing member. */
function comparableNode({ children, transaction, in_msg, ...own }: Json): Json {
  const carrier = comparable('transactions', { in_msg }) as Json;
  return {
    ...(comparable('traces', own) as Json),
    ...(transaction != null && { transaction: comparable('transactions', transaction) }),
    ...(in_msg != null && { in_msg: carrier['in_msg'] }),
    children: Array.isArray(children) ? children.map((child) => comparableNode(child as Json)) : children,
  };
}
