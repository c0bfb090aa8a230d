/*
 * Synthetic records in the API's form, with every documented member set and no two values alike: a member in
 * its neighbor's column is noticed.
 */

type Json = Record<string, unknown>;

let last = 0;
export const hash = (): string => Buffer.from(String(++last).padStart(32, '0')).toString('base64');
/** A hash that a test can name. */
export const hashOf = (word: string): string => Buffer.from(word.padStart(32, '-')).toString('base64');
export const digits = (): string => String(1_000_000_000_000 + ++last);
export const int = (): number => 1000 + ++last;
export const words = (name: string): string => `${name} ${++last}`;
let statuses = 0;
/** Each in turn, so that neighbors differ. */
const status = () => ['nonexist', 'uninit', 'frozen', 'active'][statuses++ % 4];

export const address = (): string => `0:${String(++last).padStart(64, 'A')}`;
export const currencies = (): Json => ({ [String(++last)]: digits() });

export function sampleBlock(changes: Json = {}): Json {
  return {
    workchain: 0,
    shard: '2000000000000000',
    seqno: int(),
    root_hash: hash(),
    file_hash: hash(),
    global_id: -239,
    version: int(),
    after_merge: true,
    before_split: false,
    after_split: true,
    want_merge: false,
    want_split: true,
    key_block: false,
    vert_seqno_incr: true,
    flags: int(),
    gen_utime: String(1_760_000_000 + int()),
    start_lt: digits(),
    end_lt: digits(),
    validator_list_hash_short: -int(),
    gen_catchain_seqno: int(),
    min_ref_mc_seqno: int(),
    prev_key_block_seqno: int(),
    vert_seqno: int(),
    master_ref_seqno: int(),
    rand_seed: hash(),
    created_by: hash(),
    tx_count: int(),
    masterchain_block_ref: { workchain: -1, shard: '8000000000000000', seqno: int() },
    prev_blocks: [
      { workchain: 0, shard: '1000000000000000', seqno: int() },
      { workchain: 0, shard: '3000000000000000', seqno: int() },
    ],
    ...changes,
  };
}

export function sampleMessage(changes: Json = {}): Json {
  return {
    hash: hash(),
    source: address(),
    destination: address(),
    value: digits(),
    value_extra_currencies: currencies(),
    fwd_fee: digits(),
    ihr_fee: digits(),
    extra_flags: digits(),
    created_lt: digits(),
    created_at: String(1_700_000_000 + int()),
    opcode: `0x${int().toString(16).padStart(8, '0')}`,
    decoded_opcode: `0x${int().toString(16).padStart(8, '0')}`,
    ihr_disabled: true,
    bounce: false,
    bounced: true,
    import_fee: digits(),
    in_msg_tx_hash: hash(),
    out_msg_tx_hash: hash(),
    message_content: { hash: hash(), body: hash(), decoded: { type: words('comment'), nothing: null } },
    init_state: { hash: hash(), body: hash(), decoded: { type: words('state') } },
    hash_norm: hash(),
    ...changes,
  };
}

/** An external-in message: it has no sender and no time. */
export function sampleExternal(changes: Json = {}): Json {
  const nothing = {
    source: null,
    value: null,
    fwd_fee: null,
    ihr_fee: null,
    created_lt: null,
    created_at: null,
  };
  return sampleMessage({ ...nothing, ihr_disabled: null, bounce: null, bounced: null, ...changes });
}

function sampleAccountState(): Json {
  return {
    hash: hash(),
    balance: digits(),
    extra_currencies: currencies(),
    account_status: status(),
    frozen_hash: hash(),
    data_hash: hash(),
    code_hash: hash(),
    data_boc: hash(),
    code_boc: hash(),
  };
}

/** Every boolean is `flag`: swapped flags differ between a record and its negative. */
function sampleDescription(flag: boolean): Json {
  return {
    type: words('kind'),
    aborted: flag,
    destroyed: !flag,
    credit_first: flag,
    is_tock: !flag,
    installed: flag,
    storage_ph: {
      storage_fees_collected: digits(),
      storage_fees_due: digits(),
      status_change: words('storage'),
    },
    credit_ph: { due_fees_collected: digits(), credit: digits(), credit_extra_currencies: currencies() },
    compute_ph: {
      skipped: flag,
      reason: words('reason'),
      success: !flag,
      msg_state_used: flag,
      account_activated: !flag,
      gas_fees: digits(),
      gas_used: digits(),
      gas_limit: digits(),
      gas_credit: digits(),
      mode: int(),
      exit_code: -int(),
      exit_arg: int(),
      vm_steps: int(),
      vm_init_state_hash: hash(),
      vm_final_state_hash: hash(),
    },
    action: {
      success: flag,
      valid: !flag,
      no_funds: flag,
      status_change: words('action'),
      total_fwd_fees: digits(),
      total_action_fees: digits(),
      result_code: int(),
      result_arg: -int(),
      tot_actions: int(),
      spec_actions: int(),
      skipped_actions: int(),
      msgs_created: int(),
      action_list_hash: hash(),
      tot_msg_size: { cells: digits(), bits: digits() },
    },
    bounce: {
      type: words('bounce'),
      msg_size: { cells: digits(), bits: digits() },
      req_fwd_fees: digits(),
      msg_fees: digits(),
      fwd_fees: digits(),
    },
    split_info: {
      cur_shard_pfx_len: int(),
      acc_split_depth: int(),
      this_addr: hash(),
      sibling_addr: hash(),
    },
  };
}

export function sampleTransaction(changes: Json = {}, flag = true): Json {
  const now = 1_760_000_000 + int();
  const sent = String(typeof changes['now'] === 'number' ? changes['now'] : now);
  return {
    account: address(),
    hash: hash(),
    lt: digits(),
    now,
    mc_block_seqno: int(),
    trace_id: hash(),
    trace_external_hash: hash(),
    prev_trans_hash: hash(),
    prev_trans_lt: digits(),
    orig_status: status(),
    end_status: status(),
    total_fees: digits(),
    total_fees_extra_currencies: currencies(),
    description: sampleDescription(flag),
    block_ref: { workchain: 0, shard: '1000000000000000', seqno: int() },
    in_msg: sampleMessage(),
    out_msgs: [sampleMessage({ created_at: sent }), sampleMessage({ created_at: sent })],
    account_state_before: sampleAccountState(),
    account_state_after: sampleAccountState(),
    emulated: flag,
    finality: 'confirmed',
    ...changes,
  };
}
