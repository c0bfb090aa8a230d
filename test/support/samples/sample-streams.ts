import {
  address,
  digits,
  hash,
  int,
  sampleExternal,
  sampleMessage,
  sampleTransaction,
  words,
} from './sample-records.ts';

/* Synthetic records of every stream except blocks and transactions, in the same manner as those. */

type Json = Record<string, unknown>;

const pubkey = (): string => String(int()).padStart(64, 'F');
const payload = (): Json => ({ type: words('comment'), nothing: null });

const START = 1_760_000_000;

export function sampleAction(changes: Json = {}): Json {
  return {
    trace_id: hash(),
    action_id: hash(),
    start_lt: digits(),
    end_lt: digits(),
    start_utime: START + int(),
    end_utime: START + int(),
    trace_end_lt: digits(),
    trace_end_utime: START + int(),
    trace_mc_seqno_end: int(),
    transactions: [hash(), hash()],
    success: true,
    type: 'jetton_transfer',
    details: {
      asset: address(),
      sender: address(),
      receiver: address(),
      amount: digits(),
      comment: null,
      query_id: digits(),
    },
    trace_external_hash: hash(),
    trace_external_hash_norm: hash(),
    accounts: [address(), address(), address()],
    finality: 'confirmed',
    ...changes,
  };
}

/**
 * A trace of four transactions: an external message and its receiver with two children. One of these has a
 * child, and the other sent a message that was not received.
 */
export function sampleTrace(changes: Json = {}): Json {
  const trace_id = hash();
  const link = (now: number) => sampleMessage({ created_at: String(now) });
  const [left, right, further, lost] = [link(START), link(START), link(START + 1), link(START + 2)];
  const external = sampleExternal();
  const make = (step: number, in_msg: Json, out_msgs: Json[]) =>
    sampleTransaction({ trace_id, now: START + step, lt: String(100 + step), in_msg, out_msgs });
  const root = sampleTransaction({
    trace_id,
    hash: trace_id,
    now: START,
    lt: '100',
    in_msg: external,
    out_msgs: [left, right],
  });
  const others = [make(1, left, [further]), make(2, right, [lost]), make(3, further, [])];
  const [first, second, third] = others as [Json, Json, Json];
  const node = (transaction: Json, message: Json, children: Json[] | null): Json => ({
    tx_hash: transaction['hash'],
    in_msg_hash: message['hash'],
    children,
  });
  const all = [root, ...others];
  return {
    trace_id,
    external_hash: external['hash'],
    mc_seqno_start: String(int()),
    mc_seqno_end: String(int()),
    start_lt: '100',
    start_utime: START,
    end_lt: '103',
    end_utime: START + 3,
    trace_info: {
      trace_state: words('state'),
      messages: int(),
      transactions: int(),
      pending_messages: int(),
      classification_state: words('classification'),
    },
    is_incomplete: false,
    warning: words('warning'),
    trace: node(root, external, [node(first, left, [node(third, further, [])]), node(second, right, null)]),
    transactions_order: all.map((transaction) => transaction['hash']),
    transactions: Object.fromEntries(all.map((transaction) => [transaction['hash'], transaction])),
    ...changes,
  };
}

/** A trace as the document shows it: bodies in the tree, no map next to it. */
export function sampleDocumentedTrace(): Json {
  const { trace, transactions, ...members } = sampleTrace();
  const bodies = transactions as Record<string, Json>;
  delete members['transactions_order'];
  const withBodies = ({ tx_hash, children, ...node }: Json): Json => {
    const transaction = bodies[tx_hash as string]!;
    return {
      ...node,
      transaction,
      in_msg: transaction['in_msg'],
      children: children === null ? null : (children as Json[]).map(withBodies),
    };
  };
  return { ...members, trace: withBodies(trace as Json) };
}

function inTransaction(): Json {
  return {
    transaction_hash: hash(),
    transaction_lt: digits(),
    transaction_now: START + int(),
    transaction_aborted: true,
    trace_id: hash(),
    query_id: digits(),
    response_destination: address(),
    custom_payload: hash(),
    decoded_custom_payload: payload(),
  };
}

export function sampleJettonTransfer(changes: Json = {}): Json {
  return {
    ...inTransaction(),
    source: address(),
    destination: address(),
    amount: digits(),
    source_wallet: address(),
    jetton_master: address(),
    forward_ton_amount: digits(),
    forward_payload: hash(),
    decoded_forward_payload: payload(),
    ...changes,
  };
}

export function sampleJettonBurn(changes: Json = {}): Json {
  return {
    ...inTransaction(),
    owner: address(),
    jetton_wallet: address(),
    jetton_master: address(),
    amount: digits(),
    ...changes,
  };
}

export function sampleNftTransfer(changes: Json = {}): Json {
  return {
    ...inTransaction(),
    nft_address: address(),
    nft_collection: address(),
    old_owner: address(),
    new_owner: address(),
    forward_amount: digits(),
    forward_payload: hash(),
    decoded_forward_payload: payload(),
    ...changes,
  };
}

export function sampleValidatorEvent(changes: Json = {}): Json {
  return {
    tx_hash: hash(),
    tx_lt: digits(),
    utime: START + int(),
    type: 'stake_rejected',
    stake_holder_address: address(),
    validator_pubkey: pubkey(),
    adnl_addr: pubkey(),
    election_id: START + int(),
    query_id: digits(),
    amount: digits(),
    reason: int(),
    ...changes,
  };
}

export function sampleComplaint(changes: Json = {}): Json {
  const vote = (): Json => ({
    validator_index: int(),
    validator_pubkey: pubkey(),
    adnl_addr: pubkey(),
    weight: digits(),
  });
  return {
    cycle_start: START + int(),
    election_id: START + int(),
    complaint_hash: hash(),
    validator_pubkey: pubkey(),
    adnl_addr: pubkey(),
    stake_holder_address: address(),
    description_boc: hash(),
    created_at: START + int(),
    severity: int(),
    reward_address: address(),
    paid: digits(),
    suggested_fine: digits(),
    suggested_fine_part: 2 ** 32 - int(),
    voted_validators: [vote(), vote()],
    vset_id: hash(),
    weight_remaining: `-${digits()}`,
    approved_percent: 66.666_666_666_666_67,
    is_passed: true,
    ...changes,
  };
}

export function sampleElection(changes: Json = {}): Json {
  const participant = (): Json => ({
    validator_pubkey: pubkey(),
    validator_index: int(),
    stake: digits(),
    max_factor: int(),
    stake_holder_address: address(),
    adnl_addr: pubkey(),
  });
  return {
    election_id: START + int(),
    elect_close: START + int(),
    min_stake: digits(),
    total_stake: digits(),
    total_participants: int(),
    failed: false,
    finished: true,
    participants: [participant(), participant()],
    ...changes,
  };
}

/** Without the complaints about its validators, which are records of another dataset. */
export function sampleCycle(changes: Json = {}): Json {
  const validator = (): Json => ({
    validator_index: int(),
    validator_pubkey: pubkey(),
    adnl_addr: pubkey(),
    weight: digits(),
    stake_holder_address: address(),
    stake: digits(),
    max_factor: int(),
  });
  const counts =
    'election_id total main validators_elected_for elections_start_before elections_end_before stake_held_for ' +
    'max_validators max_main_validators min_validators max_stake_factor';
  const amounts =
    'total_weight total_stake min_stake max_stake min_stake_limit max_stake_limit min_total_stake';
  return {
    ...Object.fromEntries(counts.split(' ').map((name) => [name, int()])),
    ...Object.fromEntries(amounts.split(' ').map((name) => [name, digits()])),
    cycle_start: START + int(),
    cycle_end: START + int(),
    validators: [validator(), validator()],
    ...changes,
  };
}

export function samplePoolEvent(changes: Json = {}): Json {
  return {
    tx_hash: hash(),
    tx_lt: digits(),
    utime: START + int(),
    pool_address: address(),
    validator_address: address(),
    type: 'penalty',
    amount: digits(),
    balance_delta: `-${digits()}`,
    balance_before: digits(),
    balance_after: digits(),
    query_id: digits(),
    cycle_start: START + int(),
    validator_reward_share: int(),
    ...changes,
  };
}

export function sampleNominatorEvent(changes: Json = {}): Json {
  return {
    tx_hash: hash(),
    tx_lt: digits(),
    utime: START + int(),
    pool_address: address(),
    nominator_address: address(),
    type: words('reward'),
    amount: digits(),
    balance_delta: digits(),
    pending_balance_delta: digits(),
    balance_before: digits(),
    balance_after: digits(),
    pending_balance_before: digits(),
    pending_balance_after: digits(),
    withdraw_request_before: true,
    withdraw_request_after: false,
    ...changes,
  };
}
