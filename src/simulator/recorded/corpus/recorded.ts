import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { UsageError } from '../../../errors.ts';

/** Members that the corpus mode sorts and filters by; everything else is served as it was recorded. */
const messageSchema = z.looseObject({
  hash: z.string(),
  hash_norm: z.string().nullish(),
  source: z.string().nullish(),
  destination: z.string().nullish(),
  opcode: z.union([z.string(), z.number()]).nullish(),
  created_lt: z.string().nullish(),
  created_at: z.string().nullish(),
  message_content: z.looseObject({ hash: z.string().nullish() }).nullish(),
});

const transactionSchema = z.looseObject({
  account: z.string(),
  hash: z.string(),
  lt: z.string(),
  now: z.number(),
  mc_block_seqno: z.number(),
  block_ref: z.looseObject({ workchain: z.number(), shard: z.string().nullable(), seqno: z.number() }),
  in_msg: messageSchema.nullish(),
  out_msgs: z.array(messageSchema),
});

const actionSchema = z.looseObject({
  trace_id: z.string().nullish(),
  action_id: z.string(),
  type: z.string(),
  start_lt: z.string(),
  end_lt: z.string(),
  end_utime: z.number(),
  transactions: z.array(z.string()).nullish(),
  accounts: z.array(z.string()).nullish(),
});

const traceSchema = z.looseObject({
  trace_id: z.string(),
  start_utime: z.number(),
  end_lt: z.string(),
  end_utime: z.number(),
  mc_seqno_end: z.string(),
  transactions: z.record(z.string(), transactionSchema),
  actions: z
    .array(actionSchema)
    .nullish()
    .transform((actions) => actions ?? []),
});

const tokenSchema = z.looseObject({
  transaction_hash: z.string(),
  transaction_lt: z.string(),
  transaction_now: z.number(),
});

const many = z.array(z.unknown()).default([]);
const responseSchema = z.looseObject({
  transactions: many,
  traces: many,
  actions: many,
  jetton_transfers: many,
  jetton_burns: many,
  nft_transfers: many,
});

export type RecordedMessage = z.infer<typeof messageSchema>;
export type RecordedTransaction = z.infer<typeof transactionSchema>;
export type RecordedAction = z.infer<typeof actionSchema>;
export type RecordedToken = z.infer<typeof tokenSchema>;
export type RecordedTrace = z.infer<typeof traceSchema>;

/** What a directory holds, each transaction and each trace once. */
export interface Recorded {
  readonly transactions: readonly RecordedTransaction[];
  readonly traces: readonly RecordedTrace[];
  readonly jettonTransfers: readonly RecordedToken[];
  readonly jettonBurns: readonly RecordedToken[];
  readonly nftTransfers: readonly RecordedToken[];
}

/**
 * Reads `traces.jsonl` (a trace a line) and every recorded response (*.json with `transactions` or `traces`) below a
 * directory. What has not the shape of a transaction or of a trace is left out.
 * @throws UsageError if there is nothing to serve.
 */
export function readRecorded(directory: string): Recorded {
  if (!existsSync(directory)) throw new UsageError(`There is no directory ${directory}.`);
  const found: FoundRecord = {
    transactions: new Map(),
    traces: new Map(),
    actions: new Map(),
    jettonTransfers: new Map(),
    jettonBurns: new Map(),
    nftTransfers: new Map(),
  };
  for (const entry of readdirSync(directory, { recursive: true, encoding: 'utf8' }).toSorted()) {
    const path = join(directory, entry);
    if (entry.endsWith('.jsonl')) readLines(found, path);
    else if (entry.endsWith('.json')) readResponse(found, path);
  }
  if (found.transactions.size === 0)
    throw new UsageError(`${directory} holds no recorded transactions.`, {
      hint: 'It should hold a traces.jsonl, or responses of /api/v3/transactions or /api/v3/traces as *.json.',
    });
  return {
    transactions: [...found.transactions.values()],
    traces: [...found.traces.values()].map((trace) => withActions(trace, found)),
    jettonTransfers: [...found.jettonTransfers.values()],
    jettonBurns: [...found.jettonBurns.values()],
    nftTransfers: [...found.nftTransfers.values()],
  };
}

interface FoundRecord {
  readonly transactions: Map<string, RecordedTransaction>;
  readonly traces: Map<string, RecordedTrace>;
  /** Those of /actions, by their traces. */
  readonly actions: Map<string, RecordedAction[]>;
  readonly jettonTransfers: Map<string, RecordedToken>;
  readonly jettonBurns: Map<string, RecordedToken>;
  readonly nftTransfers: Map<string, RecordedToken>;
}

function readLines(found: FoundRecord, path: string): void {
  for (const line of readFileSync(path, 'utf8').split('\n'))
    if (line.trim() !== '') takeTrace(found, JSON.parse(line));
}

function readResponse(found: FoundRecord, path: string): void {
  const response = responseSchema.safeParse(JSON.parse(readFileSync(path, 'utf8')));
  if (!response.success) return;
  const { traces, transactions, actions, jetton_transfers, jetton_burns, nft_transfers } = response.data;
  for (const trace of traces) takeTrace(found, trace);
  for (const action of actions) takeAction(found, action);
  for (const transaction of transactions) takeTransaction(found, transaction);
  for (const transfer of jetton_transfers) takeToken(found.jettonTransfers, transfer);
  for (const burn of jetton_burns) takeToken(found.jettonBurns, burn);
  for (const transfer of nft_transfers) takeToken(found.nftTransfers, transfer);
}

function takeTrace(found: FoundRecord, value: unknown): void {
  const trace = traceSchema.safeParse(value);
  if (!trace.success) return;
  found.traces.set(trace.data.trace_id, trace.data);
  for (const transaction of Object.values(trace.data.transactions)) takeTransaction(found, transaction);
}

function takeTransaction(found: FoundRecord, value: unknown): void {
  const transaction = transactionSchema.safeParse(value);
  if (transaction.success) found.transactions.set(transaction.data.hash, transaction.data);
}

function takeToken(found: Map<string, RecordedToken>, value: unknown): void {
  const token = tokenSchema.safeParse(value);
  if (token.success) found.set(token.data.transaction_hash, token.data);
}

function takeAction(found: FoundRecord, value: unknown): void {
  const { success, data } = actionSchema.safeParse(value);
  if (!success || typeof data.trace_id !== 'string') return;
  found.actions.set(data.trace_id, [...(found.actions.get(data.trace_id) ?? []), data]);
}

/** A trace with its own actions and those that were recorded apart from it. */
function withActions(trace: RecordedTrace, found: FoundRecord): RecordedTrace {
  const byId = new Map(trace.actions.map((action) => [action.action_id, action]));
  for (const action of found.actions.get(trace.trace_id) ?? []) byId.set(action.action_id, action);
  return { ...trace, actions: [...byId.values()] };
}
