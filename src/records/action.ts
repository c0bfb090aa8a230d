import { hash, optionalHash } from './members/form.ts';
import { z } from 'zod';
import { orNull, type Extra } from '../dataset/record.ts';
import { actionMember, type ActionColumn } from '../db/schema/ton/action-members.ts';
import type { action_accounts, action_transactions, actions } from '../db/schema/ton/actions.ts';
import { formatTime } from '../range.ts';
import { finality, flag, freeForm, int, requiredInt64, requiredSeconds, texts } from './members/scalar.ts';

/**
 * One element of `actions` of GET /api/v3/actions, and of a trace that was asked for with them. The members of
 * `details` depend on `type`; for a type that its server has no shape for they say so, and `raw_action` stands beside.
 */
export const action = z.strictObject({
  trace_id: hash,
  action_id: hash,
  start_lt: requiredInt64,
  end_lt: requiredInt64,
  start_utime: requiredSeconds,
  end_utime: requiredSeconds,
  trace_end_lt: requiredInt64,
  trace_end_utime: requiredSeconds,
  trace_mc_seqno_end: int,
  transactions: texts,
  success: flag,
  type: z.string(),
  details: freeForm,
  raw_action: freeForm,
  trace_external_hash: optionalHash,
  trace_external_hash_norm: optionalHash,
  accounts: texts,
  transactions_full: freeForm,
  finality,
});

export type Action = z.output<typeof action>;

type ActionRow = typeof actions.$inferInsert;

/** The rows of one action: its own, and one for each of its accounts and transactions. */
export interface ActionRows {
  readonly actions: readonly ActionRow[];
  readonly action_accounts: readonly (typeof action_accounts.$inferInsert)[];
  readonly action_transactions: readonly (typeof action_transactions.$inferInsert)[];
}

/** Integers only: what a numeric column takes, and an amount can be. */
const WHOLE = /^-?\d{1,1000}$/;

/** Rows of an action. `extra` are the members that the schema does not name, with paths as within the action. */
export function actionRows(record: Action, extra: Extra): ActionRows {
  const key = {
    utime: formatTime(record.trace_end_utime),
    trace_id: record.trace_id,
    action_id: record.action_id,
  };
  return {
    actions: [{ ...key, ...actionColumns(record, extra) }],
    action_accounts: (record.accounts ?? []).map((account, position) => ({ ...key, position, account })),
    action_transactions: (record.transactions ?? []).map((tx_hash, position) => ({
      ...key,
      position,
      tx_hash,
    })),
  };
}

function actionColumns(record: Action, extra: Extra) {
  return {
    type: record.type,
    success: record.success,
    source: textOf(record, 'source'),
    destination: textOf(record, 'destination'),
    asset: textOf(record, 'asset'),
    amount: amountOf(record),
    details: record.details,
    start_utime: formatTime(record.start_utime),
    start_lt: record.start_lt,
    end_utime: formatTime(record.end_utime),
    end_lt: record.end_lt,
    trace_end_lt: record.trace_end_lt,
    trace_mc_seqno_end: record.trace_mc_seqno_end,
    trace_external_hash: record.trace_external_hash,
    trace_external_hash_norm: record.trace_external_hash_norm,
    account_count: record.accounts?.length,
    transaction_count: record.transactions?.length,
    finality: record.finality,
    extra: orNull({ ...extra, ...(record.raw_action != null && { raw_action: record.raw_action }) }),
  } satisfies Partial<ActionRow>;
}

/** What `details` says in the place that a column is taken from. */
function detail({ type, details }: Action, column: ActionColumn): unknown {
  return actionMember(type, column)
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), details);
}

function textOf(record: Action, column: ActionColumn): string | null {
  const value = detail(record, column);
  return typeof value === 'string' ? value : null;
}

function amountOf(record: Action): string | null {
  const value = detail(record, 'amount');
  const text = typeof value === 'number' || typeof value === 'bigint' ? String(value) : value;
  return typeof text === 'string' && WHOLE.test(text) ? text : null;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
