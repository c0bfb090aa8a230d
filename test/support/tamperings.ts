/** The finding that each tampering with stored rows must give, and its dataset. */
export const TAMPERINGS: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'a transaction is gone',
    'delete from ton.transactions where hash = (select hash from ton.transactions order by utime, lt, hash offset 300 limit 1)',
    'transactions',
    ['seal: vanished_rows_of_transactions', 'transactions: missing_transactions'],
  ],
  [
    'a block is gone',
    'delete from ton.blocks where (workchain, shard, seqno) = (select workchain, shard, seqno from ton.blocks where workchain = 0 order by utime, shard, seqno offset 200 limit 1)',
    'blocks',
    ['blocks: missing_block', 'blocks: not_closed', 'blocks: stray_link', 'seal: vanished_rows_of_blocks'],
  ],
  [
    'the links of a block are gone',
    'delete from ton.block_parents where (workchain, shard, seqno) = (select workchain, shard, seqno from ton.blocks where workchain = 0 order by utime, shard, seqno offset 200 limit 1)',
    'blocks',
    [
      'blocks: missing_link',
      'blocks: not_closed',
      'blocks: unreached_block',
      'seal: vanished_rows_of_block_parents',
    ],
  ],
  [
    'an out message is gone',
    'delete from ton.messages where hash = (select m.hash from ton.messages m where destination is null order by utime, m.hash offset 3 limit 1)',
    'transactions',
    ['messages: missing_out_messages', 'seal: vanished_rows_of_messages'],
  ],
  [
    'an amount was changed',
    'update ton.messages set value = value + 1 where hash = (select hash from ton.messages where value > 0 and source is not null order by utime, hash offset 100 limit 1)',
    'transactions',
    ['books: unbalanced_ord'],
  ],
  [
    'a fee was changed',
    "update ton.transactions set total_fees = total_fees + 1 where hash = (select hash from ton.transactions where description_type = 'ord' order by utime, lt, hash offset 300 limit 1)",
    'transactions',
    ['books: unbalanced_ord'],
  ],
  [
    'a transaction was moved to another account',
    "update ton.transactions set account = '0:00' where hash = (select t.hash from ton.transactions t where exists (select 1 from ton.transactions n where n.prev_trans_hash = t.hash) and exists (select 1 from ton.transactions p where p.hash = t.prev_trans_hash) and t.description_type = 'ord' and t.out_msg_count > 0 order by utime, lt, hash offset 20 limit 1)",
    'transactions',
    [
      'messages: other_receiver',
      'messages: other_sender',
      'seal: vanished_rows_of_transactions',
      'state-chain: missing_predecessor',
    ],
  ],
  [
    'a block was made up',
    `insert into ton.blocks select r.* from (
       select * from ton.blocks where workchain = 0 order by utime, shard, seqno offset 200 limit 1) b,
       jsonb_populate_record(null::ton.blocks, to_jsonb(b) || '{"workchain": 7}') r`,
    'blocks',
    ['blocks: missing_link', 'blocks: not_closed', 'blocks: unreached_block', 'seal: unknown_rows_of_blocks'],
  ],
  [
    'a link leads to another stored block',
    'update ton.block_parents set parent_seqno = parent_seqno - 1 where (workchain, shard, seqno) = (select workchain, shard, seqno from ton.block_parents where workchain = 0 and shard = parent_shard and exists (select from ton.blocks b where b.shard = parent_shard and b.seqno = parent_seqno - 1) order by utime, shard, seqno offset 200 limit 1)',
    'blocks',
    ['blocks: not_closed', 'blocks: unfit_link', 'blocks: unreached_block'],
  ],
  [
    'a link stands at another place among those of its block',
    'update ton.block_parents set position = 1 where (workchain, shard, seqno) = (select p.workchain, p.shard, p.seqno from ton.block_parents p join ton.blocks b using (utime, workchain, shard, seqno) where not b.after_merge order by p.utime, p.shard, p.seqno offset 200 limit 1)',
    'blocks',
    ['seal: vanished_rows_of_block_parents'],
  ],
  [
    'a block was moved, with its links',
    `with one as (
       select workchain, shard, seqno from ton.blocks where workchain = -1 order by seqno offset 20 limit 1),
     links as (
       update ton.block_parents set utime = utime + interval '1 second' where (workchain, shard, seqno) in (select * from one))
     update ton.blocks set utime = utime + interval '1 second' where (workchain, shard, seqno) in (select * from one)`,
    'blocks',
    [
      'block-seconds: other_second_than_block',
      'block-seconds: other_second_than_transactions',
      'seal: unknown_rows_of_block_parents',
      'seal: unknown_rows_of_blocks',
      'seal: vanished_rows_of_block_parents',
      'seal: vanished_rows_of_blocks',
    ],
  ],
  [
    'the receiver of a message was changed',
    'update ton.messages set destination = source where hash = (select m.hash from ton.messages m join ton.transactions t on t.in_msg_hash = m.hash where m.out_msg_tx_hash is not null order by m.utime, m.hash offset 100 limit 1)',
    'transactions',
    ['messages: other_receiver'],
  ],
  [
    'the sender of a message was changed',
    'update ton.messages set source = destination where hash = (select m.hash from ton.messages m join ton.transactions t on t.in_msg_hash = m.hash where m.out_msg_tx_hash is not null order by m.utime, m.hash offset 100 limit 1)',
    'transactions',
    ['messages: other_sender'],
  ],
  [
    'a message was moved to another second',
    "update ton.messages set utime = utime - interval '6 seconds' where hash = (select m.hash from ton.messages m join ton.transactions t on t.in_msg_hash = m.hash where m.out_msg_tx_hash is not null order by m.utime, m.hash offset 100 limit 1)",
    'transactions',
    [
      'messages: missing_in_message',
      'messages: missing_out_messages',
      'messages: stray_message',
      'seal: unknown_rows_of_messages',
      'seal: vanished_rows_of_messages',
    ],
  ],
  [
    'a message was made up',
    "insert into ton.messages (utime, hash, source, destination) select utime, '1', source, destination from ton.messages where source is not null order by utime, hash offset 40 limit 1",
    'transactions',
    ['messages: stray_message', 'seal: unknown_rows_of_messages'],
  ],
  [
    'a node of a trace was made up',
    'insert into ton.trace_nodes (utime, trace_id, tx_hash, position, children, end_lt) select utime, trace_id || trace_id, tx_hash, position, children, end_lt from ton.trace_nodes order by utime, tx_hash offset 40 limit 1',
    'traces',
    ['seal: unknown_rows_of_trace_nodes', 'traces: doubled_node', 'traces: stray_node'],
  ],
  [
    'a trace is gone',
    'delete from ton.traces where trace_id = (select trace_id from ton.traces order by utime, trace_id offset 100 limit 1)',
    'traces',
    ['seal: vanished_rows_of_traces', 'traces: missing_trace', 'traces: stray_node'],
  ],
  [
    'a trace was moved, with its nodes',
    `with one as (select trace_id from ton.traces order by utime, trace_id offset 100 limit 1),
     nodes as (
       update ton.trace_nodes set utime = utime + interval '1 second' where trace_id = (select * from one))
     update ton.traces set utime = utime + interval '1 second' where trace_id = (select * from one)`,
    'traces',
    [
      'seal: unknown_rows_of_trace_nodes',
      'seal: unknown_rows_of_traces',
      'seal: vanished_rows_of_trace_nodes',
      'seal: vanished_rows_of_traces',
      'traces: misplaced_trace',
    ],
  ],
  [
    'a node of a trace is gone',
    'delete from ton.trace_nodes where tx_hash = (select tx_hash from ton.trace_nodes order by utime, tx_hash offset 100 limit 1)',
    'traces',
    ['seal: vanished_rows_of_trace_nodes', 'traces: missing_nodes'],
  ],
];
