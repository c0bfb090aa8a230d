import type {
  ExtMessage,
  ExtTransaction,
  FullAccountState,
  NodeHead,
  ShardBlockProof,
} from '../schemas/v2.ts';
import type {
  account_messages,
  account_transactions,
  message_locations,
} from '../../db/schema/account-transactions.ts';
import type { extended_account_states } from '../../db/schema/extended-account-states.ts';
import type { masterchain_heads } from '../../db/schema/masterchain-heads.ts';
import type { shard_block_proofs } from '../../db/schema/shard-block-proofs.ts';
import { formatTime } from '../../range.ts';
import type { Extra } from '../../dataset/record.ts';
import { orNull } from './leftovers.ts';

/** The rows of a transaction that a node told: its own, and those of its messages. */
export interface ToldRows {
  readonly account_transactions: readonly (typeof account_transactions.$inferInsert)[];
  readonly account_messages: readonly (typeof account_messages.$inferInsert)[];
}

export function toldRows(record: ExtTransaction, extra: Extra): ToldRows {
  const { account, transaction_id, utime, fee, storage_fee, other_fee, data, in_msg, out_msgs } = record;
  const { lt, hash } = transaction_id;
  const own = { account, lt, hash, utime: formatTime(utime), fee, storage_fee, other_fee, data };
  const received = in_msg == null ? [] : [messageRow(in_msg, account, lt, 0)];
  const sent = (out_msgs ?? []).map((message, index) => messageRow(message, account, lt, index + 1));
  return {
    account_transactions: [{ ...own, extra: orNull(extra) }],
    account_messages: [...received, ...sent],
  };
}

function messageRow(
  record: ExtMessage,
  account: string,
  lt: string,
  position: number,
): typeof account_messages.$inferInsert {
  const { hash, source, destination, value, fwd_fee, ihr_fee, created_lt, body_hash, ...rest } = record;
  const { message, message_decode_error, msg_data, extra_currencies } = rest;
  const { '@type': data_type, body, init_state, text } = msg_data;
  return {
    account,
    lt,
    position,
    hash,
    source,
    destination,
    value,
    fwd_fee,
    ihr_fee,
    created_lt,
    body_hash,
    message,
    message_decode_error,
    data_type,
    body,
    init_state,
    text,
    extra_currencies: extra_currencies?.map(({ id, amount }) => ({ id, amount })),
  };
}

/** Where a message was received: `hash` is its own. */
export function locationRow(record: ExtTransaction, hash: string): typeof message_locations.$inferInsert {
  const { account, transaction_id, utime } = record;
  return { hash, account, lt: transaction_id.lt, tx_hash: transaction_id.hash, utime: formatTime(utime) };
}

export function extendedStateRow(
  record: FullAccountState,
  extra: Extra,
): typeof extended_account_states.$inferInsert {
  const { address, balance, extra_currencies, last_transaction_id, block_id, sync_utime, revision } = record;
  const state = record.account_state;
  return {
    address: address.account_address,
    mc_seqno: block_id.seqno,
    sync_utime: formatTime(sync_utime),
    balance,
    extra_currencies: extra_currencies?.map(({ id, amount }) => ({ id, amount })),
    last_transaction_lt: last_transaction_id.lt,
    last_transaction_hash: last_transaction_id.hash,
    kind: state['@type'],
    wallet_id: numberOf(state['wallet_id']),
    seqno: numberOf(state['seqno']),
    public_key: typeof state['public_key'] === 'string' ? state['public_key'] : null,
    account_state: state,
    revision,
    block_root_hash: block_id.root_hash,
    block_file_hash: block_id.file_hash,
    extra: orNull(extra),
  };
}

/** Some servers print 64 bits as text. */
function numberOf(value: unknown): number | null {
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : Number.NaN;
  return Number.isSafeInteger(number) && value !== '' ? number : null;
}

/** The row of a proof; `key` names the block that is proved: workchain, shard in hex, seqno. */
export function proofRow(
  { from, mc_id, links, mc_proof }: ShardBlockProof,
  extra: Extra,
  key: string,
): typeof shard_block_proofs.$inferInsert {
  const [workchain, shard = '', seqno] = key.split(':');
  return {
    workchain: Number(workchain),
    shard,
    seqno: Number(seqno),
    from_seqno: from.seqno,
    from_root_hash: from.root_hash,
    from_file_hash: from.file_hash,
    mc_seqno: mc_id.seqno,
    mc_root_hash: mc_id.root_hash,
    mc_file_hash: mc_id.file_hash,
    links,
    mc_proof,
    extra: orNull(extra),
  };
}

export function nodeHeadRow(
  { last, init, state_root_hash }: NodeHead,
  extra: Extra,
  at: string,
): typeof masterchain_heads.$inferInsert {
  return {
    taken_at: at,
    source: 'node',
    state_root_hash,
    extra: orNull(extra),
    seqno: last.seqno,
    root_hash: last.root_hash,
    file_hash: last.file_hash,
    init_seqno: init.seqno,
    init_root_hash: init.root_hash,
    init_file_hash: init.file_hash,
  };
}
