import { action_accounts, action_transactions, actions } from '../../../src/tables/ton/actions.ts';
import { messages, transactions } from '../../../src/tables/ton/transactions.ts';
import { trace_nodes, traces } from '../../../src/tables/ton/traces.ts';
import { rebuildTransaction } from './rebuild.ts';
import { rebuildAction, rebuildTrace, type TraceParts } from './rebuild-streams.ts';
import type { TextRow } from './text-row.ts';

type Json = Record<string, unknown>;

/** The tables that traces are rebuilt from. */
export const traceTables = {
  traces,
  trace_nodes,
  transactions,
  messages,
  actions,
  action_accounts,
  action_transactions,
};

/** All rows of each of those tables. */
export type TraceStore = Readonly<Record<keyof typeof traceTables, readonly TextRow[]>>;

/** Rebuilds any stored trace by its id, with its actions or without. */
export function traceRebuilder(store: TraceStore): (id: unknown, withActions?: boolean) => Json {
  const nodes = grouped(store.trace_nodes, 'trace_id');
  const byId = grouped(store.traces, 'trace_id');
  const byHash = grouped(store.transactions, 'hash');
  const messagesByHash = grouped(store.messages, 'hash');
  const sent = grouped(store.messages, 'out_msg_tx_hash');
  const transaction = (hash: string): Json | undefined => {
    const row = byHash.get(hash)?.[0];
    if (row === undefined) return undefined;
    const received = messagesByHash
      .get(row['in_msg_hash'])
      ?.find(({ utime }) => utime === row['in_msg_utime']);
    return rebuildTransaction(row, received, sent.get(hash) ?? []);
  };
  const actionsOf = actionRebuilder(store);
  return (id, withActions = false) => {
    const [row] = byId.get(String(id)) ?? [];
    const parts: TraceParts = {
      nodes: nodes.get(String(id)) ?? [],
      transaction,
      message: (hash) => messagesByHash.get(hash)?.[0],
      ...(withActions && { actions: actionsOf((action) => action['trace_id'] === id) }),
    };
    return rebuildTrace(row!, parts);
  };
}

/** Rebuilds the requested stored actions, by their start and end as the API sorts them within a trace. */
export function actionRebuilder(
  store: Pick<TraceStore, 'actions' | 'action_accounts' | 'action_transactions'>,
): (wanted: (row: TextRow) => boolean) => Json[] {
  const positionOf = (row: TextRow): string =>
    ['start_lt', 'end_lt'].map((name) => String(row[name]).padStart(20, '0')).join(' ');
  return (wanted) =>
    [...store.actions]
      .filter(wanted)
      .sort((a, b) => (positionOf(a) < positionOf(b) ? -1 : 1))
      .map((row) =>
        rebuildAction(row, partsOf(store.action_accounts, row), partsOf(store.action_transactions, row)),
      );
}

function partsOf(rows: readonly TextRow[], action: TextRow): TextRow[] {
  return rows.filter((row) => ['utime', 'trace_id', 'action_id'].every((name) => row[name] === action[name]));
}

function grouped(rows: readonly TextRow[], name: string): Map<string | null | undefined, TextRow[]> {
  const groups = new Map<string | null | undefined, TextRow[]>();
  for (const row of rows) groups.set(row[name], [...(groups.get(row[name]) ?? []), row]);
  return groups;
}
