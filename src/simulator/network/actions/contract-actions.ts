import { mix32 } from '../../random.ts';
import { succeeded, type NetworkAction, type Leg } from './made-action.ts';
import { call } from './call-details.ts';
import * as m from './members.ts';
import { fill, type MembersShape } from './members.ts';

const PACKET: MembersShape = {
  src_oapp: m.hex,
  dst_oapp: m.hex,
  src_eid: m.oneOf(30343),
  dst_eid: m.oneOf(30101, 30110, 30184),
  nonce: m.small,
  guid: m.hash,
  message: m.boc,
};

const SENT: MembersShape = {
  send_request_id: m.huge,
  msglib_manager: m.wallet,
  msglib: m.hex,
  uln: m.wallet,
  native_fee: m.small,
  zro_fee: m.oneOf(0),
  endpoint: m.wallet,
  channel: m.wallet,
};

/** Types of later versions: if they are not supported, the call that they consist of is shown. */
const COMPOSITE = {
  multisig_create_order: {
    query_id: m.query,
    order_seqno: m.amount,
    is_created_by_signer: m.yesNo,
    is_signed_by_creator: m.yesNo,
    creator_index: m.small,
    expiration_date: m.second,
    order_boc: m.boc,
    source: m.actor,
    destination: m.contract,
    destination_order: m.wallet,
  },
  multisig_approve: {
    signer_index: m.small,
    exit_code: m.oneOf(0, 108),
    source: m.actor,
    destination: m.contract,
  },
  multisig_execute: {
    query_id: m.query,
    order_seqno: m.count,
    expiration_date: m.second,
    approvals_num: m.small,
    signers_hash: m.hash,
    order_boc: m.boc,
    source: m.actor,
    destination: m.contract,
  },
  vesting_send_message: {
    query_id: m.query,
    message_boc: m.boc,
    source: m.actor,
    vesting: m.contract,
    destination: m.wallet,
    amount: m.value,
  },
  vesting_add_whitelist: {
    query_id: m.query,
    accounts_added: m.some(m.wallet),
    source: m.actor,
    vesting: m.contract,
  },
  evaa_supply: {
    sender_jetton_wallet: m.jettonWallet(0),
    recipient_jetton_wallet: m.jettonWallet(1),
    master_jetton_wallet: m.nothing,
    master: m.contract,
    asset_id: m.evaaAsset,
    is_ton: m.isEvaaTon,
    source: m.actor,
    source_wallet: m.jettonWallet(0),
    recipient: m.actor,
    recipient_contract: m.contract,
    asset: m.evaaJetton,
    amount: m.amount,
  },
  jvault_claim: {
    claimed_rewards: m.some(m.nested({ jetton: m.asset(0), amount: m.amount })),
    source: m.actor,
    stake_wallet: m.jettonWallet(0),
    pool: m.contract,
  },
  nft_discovery: { source: m.actor, nft_item: m.item, nft_collection: m.collection, nft_item_index: m.index },
  coffee_create_vault: { source: m.actor, vault: m.contract, asset: m.asset(1), value: m.value },
  coffee_staking_deposit: {
    source: m.actor,
    source_jetton_wallet: m.jettonWallet(0),
    pool: m.contract,
    pool_jetton_wallet: m.jettonWallet(1),
    asset: m.asset(0),
    amount: m.amount,
    minted_item_address: m.item,
    minted_item_index: m.index,
  },
  dns_release: {
    query_id: m.query,
    source: m.actor,
    nft_item: m.domain.item,
    nft_collection: m.domain.collection,
    nft_item_index: m.domain.index,
    value: m.value,
  },
  layerzero_send: {
    initiator: m.actor,
    layerzero_send_data: m.nested(SENT),
    layerzero_packet_data: m.nested(PACKET),
  },
  layerzero_receive: {
    sender: m.actor,
    oapp: m.contract,
    channel: m.wallet,
    layerzero_packet_data: m.nested(PACKET),
  },
  cocoon_client_top_up: { query_id: m.query, source: m.actor, destination: m.contract, amount: m.value },
  cocoon_worker_payout: {
    payout_type: m.oneOf('regular', 'last'),
    query_id: m.query,
    new_tokens: m.amount,
    worker_state: m.small,
    worker_tokens: m.amount,
    source: m.actor,
    destination: m.contract,
    amount: m.value,
  },
  dedust_v2_claim_reward: {
    dex: m.oneOf('dedust_v2'),
    source: m.actor,
    pool: m.contract,
    position: m.wallet,
    asset: m.asset(0),
    amount: m.amount,
    user_jetton_wallet: m.jettonWallet(0),
    dex_jetton_wallet: m.nothing,
  },
  tgbtc_mint: {
    source: m.contract,
    destination: m.actor,
    amount: m.amount,
    asset: m.asset(0),
    bitcoin_tx_id: m.hex,
    destination_wallet: m.jettonWallet(0),
  },
  tgbtc_burn: {
    source: m.actor,
    source_wallet: m.jettonWallet(0),
    destination: m.contract,
    amount: m.amount,
    asset: m.asset(0),
  },
} as const satisfies Readonly<Record<string, MembersShape>>;

const COMPOSITE_SHAPES: readonly (readonly [string, MembersShape])[] = Object.entries(COMPOSITE);

/** What the call of a contract was for: which one is decided by the message alone. */
export function contractActions(leg: Leg): NetworkAction[] {
  const dice = mix32(leg.message + 21) % 100;
  const called = action(leg, 'call_contract', () => call(leg.world, leg.message));
  if (leg.world.isPool(leg.world.messages.destination.get(leg.message)))
    return [dice < 60 ? shaped(leg, 'stake_deposit', DEPOSIT) : shaped(leg, 'stake_withdrawal', WITHDRAWAL)];
  if (dice < 35) return [called];
  if (dice < 38) return [{ ...action(leg, 'unknown', unknownDetails), success: null }];
  const shapes = dice < 58 ? BASIC_SHAPES : COMPOSITE_SHAPES;
  const [type, shape] = shapes[mix32(leg.message + 22) % shapes.length] ?? ['call_contract', {}];
  const typed = shaped(leg, type, shape);
  return type in BASIC ? [typed] : [typed, { ...called, ancestors: [type] }];
}

function action(leg: Leg, type: string, details: () => object): NetworkAction {
  return { type, ancestors: [], transactions: leg.transactions, success: succeeded(leg), details };
}

function shaped(leg: Leg, type: string, shape: MembersShape): NetworkAction {
  return action(leg, type, () => fill(shape, leg));
}

/** What the server prints for a type that it has no shape for. */
function unknownDetails(): object {
  return { error: "unsupported action type: 'unknown'" };
}

/** Details of the actions that calls of contracts are, for the types that every version of the API knows. */
const BASIC = {
  change_dns: {
    key: m.hash,
    value: m.nested({
      sum_type: m.oneOf('DNSSmcAddress'),
      dns_smc_address: m.wallet,
      dns_adnl_address: m.nothing,
      dns_text: m.nothing,
      dns_next_resolver_address: m.nothing,
      dns_storage_address: m.nothing,
      flags: m.oneOf(0, 1, null),
    }),
    source: m.actor,
    asset: m.contract,
    nft_collection: m.domain.collection,
  },
  delete_dns: { hash: m.hash, source: m.actor, asset: m.contract, nft_collection: m.domain.collection },
  renew_dns: { source: m.actor, asset: m.contract, nft_collection: m.domain.collection },
  election_deposit: { stake_holder: m.actor, amount: m.value },
  election_recover: { stake_holder: m.actor, amount: m.maybe(m.amount) },
  stake_deposit: {
    provider: m.oneOf('nominator_pool', 'liquid_staking', 'bemo'),
    stake_holder: m.actor,
    pool: m.contract,
    amount: m.value,
    tokens_minted: m.maybe(m.amount),
    asset: m.maybe(m.asset(0)),
  },
  stake_withdrawal: {
    provider: m.oneOf('nominator_pool', 'liquid_staking'),
    stake_holder: m.actor,
    pool: m.contract,
    amount: m.value,
    payout_nft: m.maybe(m.item),
    tokens_burnt: m.maybe(m.amount),
    asset: m.maybe(m.asset(0)),
  },
  stake_withdrawal_request: {
    provider: m.oneOf('liquid_staking', 'ethena'),
    stake_holder: m.actor,
    pool: m.contract,
    payout_nft: m.maybe(m.item),
    asset: m.maybe(m.asset(0)),
    tokens_burnt: m.maybe(m.amount),
    tokens_minted: m.maybe(m.amount),
  },
  subscribe: { subscriber: m.actor, beneficiary: m.wallet, subscription: m.contract, amount: m.value },
  unsubscribe: {
    subscriber: m.actor,
    beneficiary: m.maybe(m.wallet),
    subscription: m.contract,
    amount: m.maybe(m.value),
  },
} as const satisfies Readonly<Record<string, MembersShape>>;

const BASIC_SHAPES: readonly (readonly [string, MembersShape])[] = Object.entries(BASIC);

/** The winner of a domain sets a record of it. */
export const CHANGED_RECORD = BASIC.change_dns;

/** What nominators do with their pools. */
const { stake_deposit: DEPOSIT, stake_withdrawal: WITHDRAWAL } = BASIC;
