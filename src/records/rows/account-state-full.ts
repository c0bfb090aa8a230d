import type { AccountStateFull } from '../schemas/account-state-full.ts';
import type { account_state_changes, account_states } from '../../db/schema/account-states.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';

/** The rows of an account's state: as it is now, and one more in its history. */
export interface StateRows {
  readonly account_states: readonly (typeof account_states.$inferInsert)[];
  readonly account_state_changes: readonly (typeof account_state_changes.$inferInsert)[];
}

/** `at`: when it was looked up, ISO 8601. */
export function stateRows(record: AccountStateFull, extra: Extra, at: string): StateRows {
  const row = { ...record, last_transaction_lt: record.last_transaction_lt ?? '0', extra: orNull(extra) };
  return { account_states: [row], account_state_changes: [{ ...row, first_seen: at }] };
}
