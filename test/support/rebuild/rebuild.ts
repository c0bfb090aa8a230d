import type { TextRow } from './text-row.ts';

/*
 * Rebuilds the API's JSON from rows of the tables. It shares nothing with the mapping that made the rows, so
 * that a column filled from the wrong member cannot be read back into the right one unnoticed.
 */

type Json = Record<string, unknown>;

/** A block of GET /api/v3/blocks, from its row and the rows of its parents. */
export function rebuildBlock(row: TextRow, parents: readonly TextRow[]): Json {
  const record = {
    ...texts(row, 'shard root_hash file_hash start_lt end_lt rand_seed created_by'),
    ...numbers(row, 'workchain seqno global_id version flags validator_list_hash_short gen_catchain_seqno'),
    ...numbers(row, 'min_ref_mc_seqno prev_key_block_seqno vert_seqno master_ref_seqno tx_count'),
    ...flags(row, 'after_merge before_split after_split want_merge want_split key_block vert_seqno_incr'),
    gen_utime: seconds(row['utime']),
    masterchain_block_ref: blockId(row, 'masterchain_block_ref_'),
    prev_blocks: [...parents]
      .sort((a, b) => Number(a['position']) - Number(b['position']))
      .map((parent) => blockId(parent, 'parent_')),
  };
  return withExtra(record, row);
}

/**
 * A transaction of GET /api/v3/transactions, from its row and those of its messages. `received` is the row of messages
 * with its in_msg_hash and in_msg_utime, `sent` those with its hash as out_msg_tx_hash, in any order.
 */
export function rebuildTransaction(
  row: TextRow,
  received: TextRow | undefined,
  sent: readonly TextRow[],
): Json {
  const ordered = [...sent].sort((a, b) =>
    BigInt(a['created_lt'] ?? 0) < BigInt(b['created_lt'] ?? 0) ? -1 : 1,
  );
  const record = {
    ...texts(row, 'account hash lt trace_id trace_external_hash prev_trans_hash prev_trans_lt orig_status'),
    ...texts(row, 'end_status total_fees finality'),
    ...json(row, 'total_fees_extra_currencies'),
    ...numbers(row, 'mc_block_seqno'),
    ...flags(row, 'emulated'),
    now: Number(seconds(row['utime'])),
    block_ref: blockId(row, 'block_'),
    description: rebuildDescription(row),
    account_state_before: accountState(row, 'before_'),
    account_state_after: accountState(row, 'after_'),
    in_msg: received === undefined ? null : rebuildMessage(received),
    out_msgs: row['out_msg_count'] == null ? null : ordered.map((message) => rebuildMessage(message)),
  };
  return withExtra(record, row);
}

/** A message of a transaction, from its row. */
export function rebuildMessage(row: TextRow): Json {
  const record = {
    ...texts(
      row,
      'hash source destination value fwd_fee ihr_fee extra_flags created_lt opcode decoded_opcode',
    ),
    ...texts(row, 'import_fee hash_norm'),
    ...json(row, 'value_extra_currencies'),
    ...flags(row, 'ihr_disabled bounce bounced'),
    created_at: row['created_lt'] == null ? null : seconds(row['utime']),
    message_content: orNull({ ...texts(row, 'hash body', 'content_'), ...json(row, 'decoded', 'content_') }),
    init_state: orNull({ ...texts(row, 'hash body', 'init_state_'), ...json(row, 'decoded', 'init_state_') }),
  };
  return withExtra(record, row);
}

function rebuildDescription(row: TextRow): Json {
  return {
    type: row['description_type'],
    ...flags(row, 'aborted destroyed credit_first is_tock installed'),
    storage_ph: orNull({
      ...texts(row, 'storage_fees_collected storage_fees_due'),
      ...texts(row, 'status_change', 'storage_'),
    }),
    credit_ph: orNull({
      ...texts(row, 'due_fees_collected', 'credit_'),
      ...texts(row, 'credit'),
      ...json(row, 'credit_extra_currencies'),
    }),
    compute_ph: orNull({
      ...flags(row, 'skipped success msg_state_used account_activated', 'compute_'),
      ...texts(row, 'reason gas_fees gas_used gas_limit gas_credit', 'compute_'),
      ...texts(row, 'vm_init_state_hash vm_final_state_hash', 'compute_'),
      ...numbers(row, 'mode exit_code exit_arg vm_steps', 'compute_'),
    }),
    action: rebuildAction(row),
    bounce: orNull({
      ...texts(row, 'type req_fwd_fees msg_fees fwd_fees', 'bounce_'),
      msg_size: orNull(texts(row, 'cells bits', 'bounce_msg_size_')),
    }),
    split_info: orNull({
      ...numbers(row, 'cur_shard_pfx_len acc_split_depth', 'split_'),
      ...texts(row, 'this_addr sibling_addr', 'split_'),
    }),
  };
}

function rebuildAction(row: TextRow): Json | null {
  return orNull({
    ...flags(row, 'success valid no_funds', 'action_'),
    ...texts(row, 'status_change total_fwd_fees total_action_fees', 'action_'),
    ...texts(row, 'action_list_hash'),
    ...numbers(
      row,
      'result_code result_arg tot_actions spec_actions skipped_actions msgs_created',
      'action_',
    ),
    tot_msg_size: orNull(texts(row, 'cells bits', 'action_tot_msg_size_')),
  });
}

function accountState(row: TextRow, prefix: string): Json | null {
  return orNull({
    ...texts(row, 'hash balance account_status frozen_hash data_hash code_hash', prefix),
    ...json(row, 'extra_currencies', prefix),
  });
}

function blockId(row: TextRow, prefix: string): Json | null {
  return orNull({ ...numbers(row, 'workchain seqno', prefix), ...texts(row, 'shard', prefix) });
}

type Text = string | null | undefined;

/** The columns of a list of members, by the text of the list: the lists are few, and the rows are many. */
const columnsOf = new Map<string, readonly (readonly [member: string, column: string])[]>();

function members(row: TextRow, names: string, prefix: string, read: (value: string) => unknown): Json {
  let columns = columnsOf.get(`${prefix} ${names}`);
  if (columns === undefined) {
    columns = names.split(' ').map((name) => [name, `${prefix}${name}`] as const);
    columnsOf.set(`${prefix} ${names}`, columns);
  }
  const record: Json = {};
  for (const [member, column] of columns) {
    const value: Text = row[column];
    record[member] = value == null ? null : read(value);
  }
  return record;
}

export function texts(row: TextRow, names: string, prefix = ''): Json {
  return members(row, names, prefix, (value) => value);
}

export function numbers(row: TextRow, names: string, prefix = ''): Json {
  return members(row, names, prefix, Number);
}

export function flags(row: TextRow, names: string, prefix = ''): Json {
  return members(row, names, prefix, (value) => value.startsWith('t'));
}

export function json(row: TextRow, names: string, prefix = ''): Json {
  return members(row, names, prefix, (value) => JSON.parse(value) as unknown);
}

/** Unix seconds as a string of digits, from a timestamp in ISO 8601 or as Postgres prints it in UTC. */
export function seconds(text: Text): string | null {
  return text == null ? null : String(Date.parse(text.replace(' ', 'T').replace(/\+00$/, 'Z')) / 1000);
}

/** An object of the API that was not sent has null in all its columns. */
export function orNull(object: Json): Json | null {
  return Object.values(object).every((value) => value === null) ? null : object;
}

/** Puts the members that no column takes back into their places, outer ones first. */
export function withExtra(record: Json, row: TextRow): Json {
  const extra = row['extra'] == null ? {} : (JSON.parse(row['extra']) as Json);
  for (const path of Object.keys(extra).sort((a, b) => a.length - b.length)) {
    putBack(record, path.split('.'), extra[path]);
  }
  return record;
}

function putBack(record: Json, path: readonly string[], value: unknown): void {
  const [name, ...rest] = path;
  if (name === undefined) return;
  if (rest.length === 0) {
    record[name] = value;
  } else {
    const inner = (record[name] ?? {}) as Json;
    record[name] = inner;
    putBack(inner, rest, value);
  }
}
