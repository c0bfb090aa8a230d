import { boolean, index, integer, primaryKey, text } from 'drizzle-orm/pg-core';
import { count8, hash, int8, loadedAt, moment, utime, describe, ton, restColumns } from '../describe.ts';

/**
 * The assumed maximum duration of a trace, which keeps searches within few partitions. If a trace lasts longer, an
 * older copy stays next to the newer one until a comparison with the source finds it. And if a wrong transaction lies
 * longer before the end of its trace, that end keeps its certificate.
 */
export const LONGEST_TRACE = '30 days';

export const traces = ton.table(
  'traces',
  {
    utime: utime(),
    trace_id: hash().notNull(),
    external_hash: hash(),
    mc_seqno_start: integer(),
    mc_seqno_end: integer(),
    start_utime: moment().notNull(),
    start_lt: int8().notNull(),
    end_lt: int8().notNull(),
    trace_state: text(),
    messages: count8(),
    transactions: count8(),
    pending_messages: count8(),
    classification_state: text(),
    is_incomplete: boolean(),
    warning: text(),
    ...restColumns(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.trace_id] }),
    // Transactions contain the id of their trace, but not the time at which it ended.
    index('traces_trace_id').on(t.trace_id),
  ],
);

describe(traces, {
  comment:
    'Finished chains of messages, one row a trace: all transactions that one external message (or one tick of the chain) set off, in all shards. Read from GET /api/v3/traces, whose pages bring transactions and messages too. The tree is in trace_nodes, the transactions are those of transactions with its trace_id, its actions those of actions with its utime and trace_id. A trace that still runs or broke off has no row, though its transactions are there.',
  from: 'traces[].*',
  columns: {
    utime:
      'Block time, UTC, at which the trace ended: that of its last transaction. From traces[].end_utime.',
    trace_id:
      'Hash of the first transaction of the trace, base64: its identity. A trace that goes on after it seemed to have ended gets a later utime, and its old row goes.',
    external_hash:
      'Hash of the message that set the trace off, base64; for external messages the normalized one, which wallets know before anything is on the chain; null if there was none.',
    mc_seqno_start:
      "Masterchain block that registered the trace's first transaction. From traces[].mc_seqno_start (a string there); null only if not sent.",
    mc_seqno_end:
      "Masterchain block that registered the trace's last transaction. From traces[].mc_seqno_end (a string there); null only if not sent.",
    start_utime: "Block time, UTC, of the trace's first transaction; chains of messages can run for hours.",
    start_lt: "Logical time of the trace's first transaction.",
    end_lt:
      "Logical time of the trace's last transaction; of two copies of a trace the one with the larger value counts.",
    trace_state:
      'State of the trace: complete; or pending or broken, if the server shows such traces: do not count these as complete. When it ends later, its row is replaced. From traces[].trace_info.trace_state; null only if not sent.',
    messages:
      'How many messages the trace has, the external one and logs included. From traces[].trace_info.messages; null only if not sent.',
    transactions:
      'How many transactions the trace has: the checksum that verification holds stored ones against. From traces[].trace_info.transactions; null only if not sent.',
    pending_messages:
      'How many messages of the trace were not received yet: 0 if it is complete. From traces[].trace_info.pending_messages; null only if not sent.',
    classification_state:
      'Whether the source has found the actions of the trace; every server says unclassified, always. From traces[].trace_info.classification_state; null only if not sent.',
    is_incomplete:
      'True if the trace was too large for its server (over 4000 transactions): it has no nodes then, and warning says so.',
    warning: 'What the server says about a trace that it could not give whole; null for nearly all.',
    extra:
      'Members of a trace or its tree that this version of the program has no column for, by dotted path; null if there are none. If the order of transactions is not by lt and account, it is here, too.',
  },
  conflict: { kind: 'newer', by: 'end_lt' },
  supersedes: { columns: ['trace_id'], of: 'traces' },
  partitioned: true,
});

export const trace_nodes = ton.table(
  'trace_nodes',
  {
    utime: utime(),
    trace_id: hash().notNull(),
    tx_hash: hash().notNull(),
    parent_tx_hash: hash(),
    in_msg_hash: hash(),
    position: integer().notNull(),
    children: integer(),
    end_lt: int8().notNull(),
    loaded_at: loadedAt(),
  },
  (t) => [primaryKey({ columns: [t.utime, t.trace_id, t.tx_hash] })],
);

describe(trace_nodes, {
  comment:
    'The trees of traces: one row for each transaction of a trace, with the transaction that sent the message that started it. The root is there too, without a parent.',
  from: '* of its node in traces[].trace',
  columns: {
    utime:
      'Block time, UTC, at which the whole trace ended: equals the utime of its row in traces. From traces[].end_utime.',
    trace_id: 'Trace that the tree belongs to, base64. From traces[].trace_id.',
    tx_hash: 'Hash of the transaction at this place of the tree, base64.',
    parent_tx_hash:
      'Hash of the transaction that sent the message which started this one; null for the root. From tx_hash of the node above it in traces[].trace.',
    in_msg_hash:
      'Hash of the message between the two transactions (for the root: the one that set off the trace), base64; null if no message started it.',
    position:
      'Place among the children of the same parent, from 0; 0 for the root. The index in children of the node above.',
    children:
      'How many transactions this one set off. Null if the server says null instead of an empty list: it sent messages, but none was received within the trace. The length of children of its node.',
    end_lt:
      'Logical time at which the whole trace ended, as in traces: of two copies of a tree the one with the larger value counts. From traces[].end_lt.',
  },
  conflict: { kind: 'newer', by: 'end_lt' },
  supersedes: { columns: ['trace_id'], of: 'traces' },
  partitioned: true,
});
