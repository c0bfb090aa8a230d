import { z } from 'zod';
import { action } from './action.ts';
import { count, flag, requiredInt64, requiredSeconds, text } from './scalar.ts';
import { traceTree } from './trace-node.ts';
import { transaction } from './transaction.ts';

/** A masterchain seqno: a string of digits on the wire, though a number everywhere else. */
const seqno = z
  .union([z.string().regex(/^\d{1,10}$/), z.int32()])
  .transform(Number)
  .pipe(z.int32())
  .nullish();

const traceInfo = z.strictObject({
  trace_state: text,
  messages: count,
  transactions: count,
  pending_messages: count,
  classification_state: text,
});

/**
 * One element of `traces` of GET /api/v3/traces: a finished chain of messages. Its tree names transactions by hash;
 * their bodies stand in `transactions`, their order (by lt and account) in `transactions_order`. A trace with more
 * transactions than its server can handle comes without them, marked `is_incomplete`, and says why in `warning`.
 */
export const trace = z.strictObject({
  trace_id: z.string(),
  external_hash: text,
  mc_seqno_start: seqno,
  mc_seqno_end: seqno,
  start_lt: requiredInt64,
  start_utime: requiredSeconds,
  end_lt: requiredInt64,
  end_utime: requiredSeconds,
  trace_info: traceInfo.nullish(),
  is_incomplete: flag,
  warning: text,
  actions: z.array(action).nullish(),
  trace: traceTree.nullish(),
  transactions_order: z.array(z.string()).nullish(),
  transactions: z.record(z.string(), transaction).nullish(),
});

export type Trace = z.output<typeof trace>;
