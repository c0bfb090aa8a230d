import { flags, json, numbers, orNull, rebuildMessage, seconds, texts, withExtra } from './rebuild.ts';
import type { TextRow } from './text-row.ts';

/* Rebuilds every stream except blocks and transactions; nothing is shared with the mapping that made the rows. */

type Json = Record<string, unknown>;

/** The rows of other tables that a trace consists of. */
export interface TraceParts {
  readonly nodes: readonly TextRow[];
  /** A whole stored transaction; undefined if there is none of this hash. */
  readonly transaction: (hash: string) => Json | undefined;
  /** A row of messages. */
  readonly message: (hash: string) => TextRow | undefined;
  /** The trace's actions, rebuilt, if they are requested. */
  readonly actions?: readonly Json[];
}

/** A trace of GET /api/v3/traces, from its row, its nodes in any order, and the rows that it carries. */
export function rebuildTrace(row: TextRow, parts: TraceParts): Json {
  const order = orderOf(row, parts);
  const stored = extraOf(row);
  const hashes = 'transactions' in stored ? (stored['transactions'] as string[] | null) : order;
  const record: Json = {
    ...texts(row, 'trace_id external_hash mc_seqno_start mc_seqno_end start_lt end_lt warning'),
    ...flags(row, 'is_incomplete'),
    start_utime: Number(seconds(row['start_utime'])),
    end_utime: Number(seconds(row['utime'])),
    trace_info: orNull({
      ...texts(row, 'trace_state classification_state'),
      ...numbers(row, 'messages transactions pending_messages'),
    }),
    trace: rebuildTree(parts.nodes),
    transactions_order: order,
    transactions: hashes && Object.fromEntries(hashes.map((hash) => [hash, parts.transaction(hash)])),
    ...(parts.actions !== undefined && { actions: parts.actions }),
  };
  const kept = Object.entries(stored)
    .filter(([path]) => path !== 'transactions' && path !== 'transactions_order')
    .map(([path, value]) => [path, bodyOf(path, value, parts)]);
  return withExtra(record, { extra: JSON.stringify(Object.fromEntries(kept)) });
}

function extraOf(row: TextRow): Json {
  return row['extra'] == null ? {} : (JSON.parse(row['extra']) as Json);
}

/** Hashes of the tree's transactions by lt and account, unless the trace was sent with another order or none. */
function orderOf(row: TextRow, { nodes, transaction }: TraceParts): string[] | null {
  const stored = extraOf(row);
  if ('transactions_order' in stored) return stored['transactions_order'] as string[] | null;
  const found = nodes.map(({ tx_hash }) => transaction(String(tx_hash))!);
  const positionOf = ({ lt, account }: Json): string => `${String(lt).padStart(20, '0')} ${String(account)}`;
  found.sort((a, b) => (positionOf(a) < positionOf(b) ? -1 : 1));
  return found.length === 0 ? null : found.map((one) => String(one['hash']));
}

/** If the tree was sent with bodies, the hash of the body is in its place. */
function bodyOf(path: string, value: unknown, { transaction, message }: TraceParts): unknown {
  if (!path.startsWith('trace.') && !path.startsWith('trace')) return value;
  if (path.endsWith('.transaction')) return transaction(String(value));
  if (path.endsWith('.in_msg')) return rebuildMessage(message(String(value))!);
  return value;
}

function rebuildTree(nodes: readonly TextRow[]): Json | null {
  const children = new Map<string | null, TextRow[]>();
  for (const node of nodes) {
    const parent = node['parent_tx_hash'] ?? null;
    children.set(parent, [...(children.get(parent) ?? []), node]);
  }
  const build = (node: TextRow): Json => {
    const own = (children.get(node['tx_hash'] ?? '') ?? [])
      .sort((a, b) => Number(a['position']) - Number(b['position']))
      .map(build);
    if (node['children'] != null && own.length !== Number(node['children']))
      throw new Error('a child is missing');
    return {
      ...texts(node, 'tx_hash in_msg_hash'),
      children: node['children'] == null ? null : own,
    };
  };
  const [root] = children.get(null) ?? [];
  return root === undefined ? null : build(root);
}

/** An action of GET /api/v3/actions, from its row, its accounts and its transactions in any order. */
export function rebuildAction(
  row: TextRow,
  accounts: readonly TextRow[],
  transactions: readonly TextRow[],
): Json {
  const list = (rows: readonly TextRow[], name: string): unknown[] =>
    [...rows].sort((a, b) => Number(a['position']) - Number(b['position'])).map((inner) => inner[name]);
  const record = {
    ...texts(row, 'trace_id action_id start_lt end_lt trace_end_lt type finality'),
    ...texts(row, 'trace_external_hash trace_external_hash_norm'),
    ...numbers(row, 'trace_mc_seqno_end'),
    ...flags(row, 'success'),
    ...json(row, 'details'),
    start_utime: Number(seconds(row['start_utime'])),
    end_utime: Number(seconds(row['end_utime'])),
    trace_end_utime: Number(seconds(row['utime'])),
    accounts: row['account_count'] == null ? null : list(accounts, 'account'),
    transactions: row['transaction_count'] == null ? null : list(transactions, 'tx_hash'),
  };
  return withExtra(record, row);
}

function transferMembers(row: TextRow): Json {
  return {
    ...texts(row, 'query_id transaction_hash transaction_lt trace_id response_destination custom_payload'),
    ...flags(row, 'transaction_aborted'),
    ...json(row, 'decoded_custom_payload'),
    transaction_now: Number(seconds(row['utime'])),
  };
}

export function rebuildJettonTransfer(row: TextRow): Json {
  const record = {
    ...transferMembers(row),
    ...texts(row, 'source destination amount source_wallet jetton_master forward_ton_amount forward_payload'),
    ...json(row, 'decoded_forward_payload'),
  };
  return withExtra(record, row);
}

export function rebuildJettonBurn(row: TextRow): Json {
  return withExtra(
    { ...transferMembers(row), ...texts(row, 'owner jetton_wallet jetton_master amount') },
    row,
  );
}

export function rebuildNftTransfer(row: TextRow): Json {
  const record = {
    ...transferMembers(row),
    ...texts(row, 'nft_address nft_collection old_owner new_owner forward_amount forward_payload'),
    ...json(row, 'decoded_forward_payload'),
  };
  return withExtra(record, row);
}

export function rebuildValidatorEvent(row: TextRow): Json {
  const record = {
    ...texts(row, 'tx_hash tx_lt type stake_holder_address validator_pubkey adnl_addr query_id amount'),
    ...numbers(row, 'election_id reason'),
    utime: Number(seconds(row['utime'])),
  };
  return withExtra(record, row);
}

/** A complaint of GET /api/v3/validators/complaints, from its row and its votes in any order. */
export function rebuildComplaint(row: TextRow, votes: readonly TextRow[]): Json {
  const rebuilt = byPosition(votes).map((vote) => ({
    ...numbers(vote, 'validator_index'),
    ...texts(vote, 'validator_pubkey adnl_addr weight'),
  }));
  const record = {
    ...texts(row, 'complaint_hash validator_pubkey adnl_addr stake_holder_address description_boc'),
    ...texts(row, 'reward_address paid suggested_fine vset_id weight_remaining'),
    ...numbers(row, 'election_id severity suggested_fine_part approved_percent'),
    ...flags(row, 'is_passed'),
    cycle_start: secondsOrNull(row['cycle_start']),
    created_at: Number(seconds(row['utime'])),
    voted_validators: row['vote_count'] == null ? null : rebuilt,
  };
  return withExtra(record, row);
}

const byPosition = (rows: readonly TextRow[]) =>
  [...rows].sort((a, b) => Number(a['position']) - Number(b['position']));

/** An election of GET /api/v3/validators/elections, from its row and its participants in any order. */
export function rebuildElection(row: TextRow, participants: readonly TextRow[]): Json {
  const rebuilt = byPosition(participants).map((one) => ({
    ...numbers(one, 'validator_index max_factor'),
    ...texts(one, 'validator_pubkey stake stake_holder_address adnl_addr'),
  }));
  const record = {
    ...numbers(row, 'election_id total_participants'),
    ...texts(row, 'min_stake total_stake'),
    ...flags(row, 'failed finished'),
    elect_close: secondsOrNull(row['elect_close']),
    participants: row['participant_count'] == null ? null : rebuilt,
  };
  return withExtra(record, row);
}

/** A cycle of GET /api/v3/validators/cycles without complaints, from its row and its validators in any order. */
export function rebuildCycle(row: TextRow, validators: readonly TextRow[]): Json {
  const rebuilt = byPosition(validators).map((one) => ({
    ...numbers(one, 'validator_index max_factor'),
    ...texts(one, 'validator_pubkey adnl_addr weight stake_holder_address stake'),
  }));
  const record = {
    ...numbers(row, 'election_id total main validators_elected_for elections_start_before stake_held_for'),
    ...numbers(
      row,
      'elections_end_before max_validators max_main_validators min_validators max_stake_factor',
    ),
    ...texts(
      row,
      'total_weight total_stake min_stake max_stake min_stake_limit max_stake_limit min_total_stake',
    ),
    cycle_start: Number(seconds(row['utime'])),
    cycle_end: secondsOrNull(row['cycle_end']),
    validators: row['validator_count'] == null ? null : rebuilt,
  };
  return withExtra(record, row);
}

export function rebuildPoolEvent(row: TextRow): Json {
  const record = {
    ...texts(row, 'tx_hash tx_lt pool_address validator_address type amount balance_delta balance_before'),
    ...texts(row, 'balance_after query_id'),
    ...numbers(row, 'validator_reward_share'),
    utime: Number(seconds(row['utime'])),
    cycle_start: secondsOrNull(row['cycle_start']),
  };
  return withExtra(record, row);
}

function secondsOrNull(text: string | null | undefined): number | null {
  return text == null ? null : Number(seconds(text));
}

export function rebuildNominatorEvent(row: TextRow): Json {
  const record = {
    ...texts(row, 'tx_hash tx_lt pool_address nominator_address type amount balance_delta balance_before'),
    ...texts(row, 'balance_after pending_balance_delta pending_balance_before pending_balance_after'),
    ...flags(row, 'withdraw_request_before withdraw_request_after'),
    utime: Number(seconds(row['utime'])),
  };
  return withExtra(record, row);
}
