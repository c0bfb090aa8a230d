import type { AccountStates } from './account-states.ts';
import { NONE } from './block-table.ts';
import type { Round } from './round.ts';
import type { Draft } from './transaction-table.ts';
import type { World } from './world.ts';

/** Gives the drafts of a round their rows, sorted by (lt, account), and joins messages and traces to them. */
export function finish(world: World, states: AccountStates, round: Round): void {
  const { transactions } = world;
  const drafts = round.drafts.sort((a, b) => a.lt - b.lt || a.account - b.account);
  transactions.append(drafts);
  for (const draft of drafts) {
    joinMessages(world, draft);
    joinTrace(world, draft);
    if (states.latest[draft.account] === draft) {
      world.latest[draft.account] = draft.row;
      states.latest[draft.account] = undefined;
    }
  }
}

function joinMessages({ messages, traces }: World, draft: Draft): void {
  const { trace, inMessage } = draft;
  let change = draft.outCount;
  if (inMessage !== NONE) {
    messages.inTransaction.set(inMessage, draft.row);
    // What came from outside is counted here, what was sent was counted with its sender.
    if (messages.source.get(inMessage) < 0) traces.messages.set(trace, traces.messages.get(trace) + 1);
    else change--;
  }
  for (let message = draft.firstOut; message < draft.firstOut + draft.outCount; message++) {
    messages.outTransaction.set(message, draft.row);
    if (messages.isExternalOut(message)) change--;
  }
  traces.messages.set(trace, traces.messages.get(trace) + draft.outCount);
  traces.underWay.set(trace, traces.underWay.get(trace) + change);
}

function joinTrace({ traces, transactions }: World, draft: Draft): void {
  const { trace, row } = draft;
  if (traces.root.get(trace) === NONE) traces.root.set(trace, row);
  const last = traces.last.get(trace);
  if (last === NONE || transactions.lt.get(row) >= transactions.lt.get(last)) traces.last.set(trace, row);
}
