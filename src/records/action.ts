import * as z from 'zod';
import {
  ADDRESS,
  address,
  hash,
  optionalHash,
  finality,
  flag,
  freeForm,
  int,
  requiredInt64,
  requiredSeconds,
  timeOf,
} from './members.ts';
import {
  canonicalOf,
  type Extra,
  memberAt,
  column,
  elsewhere,
  inExtra,
  givenLayout,
  rowLayoutOf,
  type Put,
} from '../dataset/declaration/record.ts';
import { actionPath, type ActionColumn } from '../tables/ton/action-members.ts';
import { action_accounts, action_transactions, actions } from '../tables/ton/actions.ts';

/**
 * One element of `actions` of GET /api/v3/actions, and of a trace that was requested with them. The members of
 * `details` depend on `type`. If the server does not know the shape of a type, they say so, and `raw_action` is added.
 */
const members = z.strictObject({
  trace_id: hash,
  action_id: hash,
  start_lt: requiredInt64,
  end_lt: requiredInt64,
  start_utime: requiredSeconds,
  end_utime: requiredSeconds,
  trace_end_lt: requiredInt64,
  trace_end_utime: column('utime', requiredSeconds),
  trace_mc_seqno_end: int,
  transactions: elsewhere(z.array(hash).nullish()),
  success: flag,
  type: z.string(),
  details: freeForm,
  raw_action: inExtra(freeForm),
  trace_external_hash: optionalHash,
  trace_external_hash_norm: optionalHash,
  accounts: elsewhere(z.array(address).nullish()),
  transactions_full: elsewhere(freeForm),
  finality,
});

export type Action = z.output<typeof members>;

export const action = members.refine(namesAddresses, {
  path: ['details'],
  error: 'has no address for a column of addresses: workchain:HEX, ext$, var$ or addr_none',
});

const rowLayout = rowLayoutOf(actions, action);
const accountLayout = givenLayout(action_accounts);
const transactionLayout = givenLayout(action_transactions);

/** Columns that take a member of `details`, whose name depends on the type. */
const ADDRESSES = ['source', 'destination', 'asset'] as const;

/** Integers only: a numeric column takes them, and an amount can be one. */
const WHOLE = /^-?\d{1,38}$/;

/**
 * Puts the rows of an action: its own, and one for each of its accounts and transactions. `extra` has the members that
 * the schema does not name, with paths within the action.
 */
export function actionRows(record: Action, extra: Extra, put: Put): void {
  const { trace_id, action_id, accounts, transactions } = record;
  const key = { utime: timeOf(record.trace_end_utime), trace_id, action_id };
  const given = {
    source: addressOf(record, 'source'),
    destination: addressOf(record, 'destination'),
    asset: addressOf(record, 'asset'),
    amount: amountOf(record),
    account_count: accounts?.length,
    transaction_count: transactions?.length,
  };
  put(rowLayout, record, given, extra);
  for (const [position, account] of (accounts ?? []).entries())
    put(accountLayout, null, { ...key, position, account });
  for (const [position, tx_hash] of (transactions ?? []).entries())
    put(transactionLayout, null, { ...key, position, tx_hash });
}

/** The value in `details` that a column is taken from. */
function detail({ type, details }: Action, column: ActionColumn): unknown {
  return memberAt(details, actionPath(type, column));
}

/** Addresses in the form of the columns. `details` keeps their original form. */
function addressOf(record: Action, column: (typeof ADDRESSES)[number]): string | null {
  const value = canonicalOf(address, detail(record, column));
  return typeof value === 'string' ? value : null;
}

/** True if every value for a column of addresses is an address or empty. */
function namesAddresses(record: Action): boolean {
  return ADDRESSES.every((column) => ADDRESS.test(addressOf(record, column) ?? ''));
}

function amountOf(record: Action): string | null {
  const value = detail(record, 'amount');
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  return typeof text === 'string' && WHOLE.test(text) ? text : null;
}
