import type { ActionSource, TransactionSource } from '../../ledger.ts';
import type { RecordedAction, RecordedTrace } from './recorded.ts';
import { at } from './recorded-rows.ts';

interface CorpusEntry {
  readonly action: RecordedAction;
  readonly trace: number;
}

/** Recorded actions, served as they were recorded. `traces`: in the order of the rows of the trace source. */
export function corpusActions(
  traces: readonly RecordedTrace[],
  transactions: TransactionSource,
): ActionSource {
  const entries: CorpusEntry[] = traces.flatMap((recorded, trace) =>
    recorded.actions.map((action) => ({ action, trace })),
  );
  const rows = entries.map((_, row) => row);
  const ofTransactions = ({ action }: CorpusEntry): number[] => {
    const found = transactions.ofHashes(action.transactions ?? []);
    return Array.from({ length: found.length }, (_, index) => found.at(index));
  };
  return {
    ofTrace: (_, trace) => rows.filter((row) => at(entries, row).trace === trace),
    tracesOf: (ids) => [
      ...new Set(entries.filter(({ action }) => ids.includes(action.action_id)).map(({ trace }) => trace)),
    ],
    facts: (row) => {
      const entry = at(entries, row);
      const { action } = entry;
      return {
        id: action.action_id,
        type: action.type,
        ancestors: [],
        startLt: Number(action.start_lt),
        endLt: Number(action.end_lt),
        endUtime: action.end_utime,
        transactions: ofTransactions(entry),
        accounts: action.accounts ?? ofTransactions(entry).map((found) => transactions.account(found)),
      };
    },
    text: (row, include) => {
      const { accounts, ...rest } = at(entries, row).action;
      return JSON.stringify(include.accounts ? { ...rest, accounts: accounts ?? [] } : rest);
    },
  };
}
