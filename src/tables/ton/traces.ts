import { index } from 'drizzle-orm/pg-core';
import {
  boolean,
  count8,
  hash,
  int8,
  integer,
  loadedAt,
  moment,
  restColumns,
  text,
  tonTable,
  utime,
} from '../describe.ts';

/**
 * The assumed maximum duration of a trace, which keeps searches within few partitions. If a trace lasts longer, an
 * older copy stays next to the newer one until a comparison with the source finds it. And if a wrong transaction lies
 * longer before the end of its trace, that end keeps its certificate.
 */
export const LONGEST_TRACE = '30 days';

export const traces = tonTable('traces', {
  comment:
    'Finished chains of messages, one row a trace: all transactions that one external message (or one tick of the chain) set off, in all shards. Read from GET /api/v3/traces, whose pages bring transactions and messages too. The tree is in trace_nodes, the transactions are those of transactions with its trace_id, its actions those of actions with its utime and trace_id. A trace that still runs or broke off has no row, though its transactions are there.',
  from: 'traces[].*',
  columns: {
    utime: utime(
      'Block time, UTC, at which the trace ended: that of its last transaction. From traces[].end_utime.',
    ),
    trace_id: hash(
      'Hash of the first transaction of the trace, base64: its identity. A trace that goes on after it seemed to have ended gets a later utime, and its old row goes.',
    ).notNull(),
    external_hash: hash(
      'Hash of the message that set the trace off, base64; for external messages the normalized one, which wallets know before anything is on the chain; null if there was none.',
    ),
    mc_seqno_start: integer(
      "Masterchain block that registered the trace's first transaction. From traces[].mc_seqno_start (a string there); null only if not sent.",
    ),
    mc_seqno_end: integer(
      "Masterchain block that registered the trace's last transaction. From traces[].mc_seqno_end (a string there); null only if not sent.",
    ),
    start_utime: moment(
      "Block time, UTC, of the trace's first transaction; chains of messages can run for hours.",
    ).notNull(),
    start_lt: int8("Logical time of the trace's first transaction.").notNull(),
    end_lt: int8(
      "Logical time of the trace's last transaction; of two copies of a trace the one with the larger value counts.",
    ).notNull(),
    trace_state: text(
      'State of the trace: complete; or pending or broken, if the server shows such traces: do not count these as complete. When it ends later, its row is replaced. From traces[].trace_info.trace_state; null only if not sent.',
    ),
    messages: count8(
      'How many messages the trace has, the external one and logs included. From traces[].trace_info.messages; null only if not sent.',
    ),
    transactions: count8(
      'How many transactions the trace has: the checksum that verification holds stored ones against. From traces[].trace_info.transactions; null only if not sent.',
    ),
    pending_messages: count8(
      'How many messages of the trace were not received yet: 0 if it is complete. From traces[].trace_info.pending_messages; null only if not sent.',
    ),
    classification_state: text(
      'Whether the source has found the actions of the trace; every server says unclassified, always. From traces[].trace_info.classification_state; null only if not sent.',
    ),
    is_incomplete: boolean(
      'True if the trace was too large for its server (over 4000 transactions): it has no nodes then, and warning says so.',
    ),
    warning: text('What the server says about a trace that it could not give whole; null for nearly all.'),
    ...restColumns(
      'Members of a trace or its tree that this version of the program has no column for, by dotted path; null if there are none. If the order of transactions is not by lt and account, it is here, too.',
    ),
  },
  key: ['utime', 'trace_id'],
  indexes: (t) => [
    // Transactions contain the id of their trace, but not the time at which it ended.
    index('traces_trace_id').on(t.trace_id),
  ],
  conflict: { kind: 'newer', by: 'end_lt' },
  supersedes: { columns: ['trace_id'], of: 'traces' },
  partitioned: true,
});

export const trace_nodes = tonTable('trace_nodes', {
  comment:
    'The trees of traces: one row for each transaction of a trace, with the transaction that sent the message that started it. The root is there too, without a parent.',
  from: '* of its node in traces[].trace',
  columns: {
    utime: utime(
      'Block time, UTC, at which the whole trace ended: equals the utime of its row in traces. From traces[].end_utime.',
    ),
    trace_id: hash('Trace that the tree belongs to, base64. From traces[].trace_id.').notNull(),
    tx_hash: hash('Hash of the transaction at this place of the tree, base64.').notNull(),
    parent_tx_hash: hash(
      'Hash of the transaction that sent the message which started this one; null for the root. From tx_hash of the node above it in traces[].trace.',
    ),
    in_msg_hash: hash(
      'Hash of the message between the two transactions (for the root: the one that set off the trace), base64; null if no message started it.',
    ),
    position: integer(
      'Place among the children of the same parent, from 0; 0 for the root. The index in children of the node above.',
    ).notNull(),
    children: integer(
      'How many transactions this one set off. Null if the server says null instead of an empty list: it sent messages, but none was received within the trace. The length of children of its node.',
    ),
    end_lt: int8(
      'Logical time at which the whole trace ended, as in traces: of two copies of a tree the one with the larger value counts. From traces[].end_lt.',
    ).notNull(),
    loaded_at: loadedAt(),
  },
  key: ['utime', 'trace_id', 'tx_hash'],
  conflict: { kind: 'newer', by: 'end_lt' },
  supersedes: { columns: ['trace_id'], of: 'traces' },
  partitioned: true,
});
