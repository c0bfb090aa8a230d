import { z } from 'zod';
import { freeForm } from './free-form.ts';
import { finality, flag, int, requiredInt64, requiredSeconds, text } from './scalar.ts';

/**
 * One element of `actions` of GET /api/v3/actions, and of a trace that was asked for with them. The members of
 * `details` depend on `type`; for a type that its server has no shape for they say so, and `raw_action` stands beside.
 */
export const action = z.strictObject({
  trace_id: z.string(),
  action_id: z.string(),
  start_lt: requiredInt64,
  end_lt: requiredInt64,
  start_utime: requiredSeconds,
  end_utime: requiredSeconds,
  trace_end_lt: requiredInt64,
  trace_end_utime: requiredSeconds,
  trace_mc_seqno_end: int,
  transactions: z.array(z.string()).nullish(),
  success: flag,
  type: z.string(),
  details: freeForm,
  raw_action: freeForm,
  trace_external_hash: text,
  trace_external_hash_norm: text,
  accounts: z.array(z.string()).nullish(),
  transactions_full: freeForm,
  finality,
});

export type Action = z.output<typeof action>;
