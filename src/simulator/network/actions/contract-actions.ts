import { mix32 } from '../../random.ts';
import { succeeded, type NetworkAction, type Leg } from './made-action.ts';
import { domainBidFor, firstBidFor } from '../entities/offer.ts';
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
  nft_put_on_sale: {
    nft_collection: m.sold.collection,
    nft_item: m.sold.item,
    nft_item_index: m.sold.index,
    owner: m.actor,
    listing_address: m.sold.offer,
    sale_address: m.sold.offer,
    marketplace_address: m.sold.market,
    full_price: m.sold.term('full_price'),
    marketplace_fee: m.sold.term('marketplace_fee'),
    royalty_amount: m.sold.term('royalty_amount'),
    marketplace_fee_address: m.sold.term('marketplace_fee_address'),
    royalty_address: m.sold.term('royalty_address'),
    marketplace: m.oneOf('getgems', 'fragment', null),
  },
  auction_outbid: {
    auction_address: m.auctioned.offer,
    bidder: m.wallet,
    new_bidder: m.actor,
    nft_item: m.auctioned.item,
    nft_collection: m.auctioned.collection,
    amount: m.value,
    marketplace: m.oneOf('getgems', 'fragment'),
  },
  nft_cancel_sale: {
    owner: m.actor,
    nft_item: m.sold.item,
    nft_collection: m.sold.collection,
    sale_address: m.sold.offer,
    marketplace_address: m.sold.market,
    marketplace: m.oneOf('getgems', null),
  },
  dns_release: {
    query_id: m.query,
    source: m.actor,
    nft_item: m.item,
    nft_collection: m.collection,
    nft_item_index: m.index,
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

const ENDED: MembersShape = {
  owner: m.actor,
  nft_item: m.auctioned.item,
  nft_collection: m.auctioned.collection,
  auction_address: m.auctioned.offer,
  marketplace_address: m.auctioned.market,
  marketplace: m.oneOf('getgems', null),
};

/** What one call of a type in four is instead, for each of the listed ones. */
const INSTEAD: Readonly<Record<string, readonly (readonly [string, MembersShape])[]>> = {
  nft_put_on_sale: [
    [
      'nft_put_on_auction',
      {
        nft_collection: m.auctioned.collection,
        nft_item: m.auctioned.item,
        nft_item_index: m.auctioned.index,
        owner: m.actor,
        listing_address: m.auctioned.offer,
        auction_address: m.auctioned.offer,
        marketplace_address: m.auctioned.market,
        marketplace_fee_factor: m.auctioned.term('mp_fee_factor'),
        marketplace_fee_base: m.auctioned.term('mp_fee_base'),
        royalty_fee_base: m.auctioned.term('royalty_fee_base'),
        max_bid: m.auctioned.term('max_bid'),
        min_bid: m.auctioned.term('min_bid'),
        marketplace_fee_address: m.auctioned.term('mp_fee_address'),
        royalty_address: m.auctioned.term('royalty_fee_address'),
        marketplace: m.oneOf('getgems', 'fragment', null),
      },
    ],
    [
      'nft_update_sale',
      {
        source: m.actor,
        sale_contract: m.sold.offer,
        nft_address: m.sold.item,
        marketplace_address: m.sold.market,
        marketplace: m.oneOf('getgems', null),
        full_price: m.sold.term('full_price'),
        marketplace_fee: m.sold.term('marketplace_fee'),
        royalty_amount: m.sold.term('royalty_amount'),
      },
    ],
  ],
  nft_cancel_sale: [
    ['nft_finish_auction', ENDED],
    ['nft_cancel_auction', ENDED],
  ],
};

const COMPOSITE_SHAPES: readonly (readonly [string, MembersShape])[] = Object.entries(COMPOSITE);

/** What the call of a contract was for: which one is decided by the message alone. */
export function contractActions(leg: Leg): NetworkAction[] {
  const dice = mix32(leg.message + 21) % 100;
  const called = action(leg, 'call_contract', () => call(leg.world, leg.message));
  if (leg.world.isPool(leg.world.messages.destination.get(leg.message)))
    return [dice < 60 ? shaped(leg, 'stake_deposit', DEPOSIT) : shaped(leg, 'stake_withdrawal', WITHDRAWAL)];
  const bidFor = domainBidFor(leg.world, leg.message);
  if (bidFor !== undefined) return domainBid(leg, called, firstBidFor(leg.world, bidFor));
  if (dice < 35) return [called];
  if (dice < 38) return [{ ...action(leg, 'unknown', unknownDetails), success: null }];
  const shapes = dice < 60 ? BASIC_SHAPES : dice < 82 ? COMPOSITE_SHAPES : MARKET_SHAPES;
  const [type, shape] = shapes[mix32(leg.message + 22) % shapes.length] ?? ['call_contract', {}];
  const [chosen, its] = INSTEAD[type]?.[mix32(leg.message + 23) % 4] ?? [type, shape];
  const typed = shaped(leg, chosen, its);
  return type in BASIC ? [typed] : [typed, { ...called, ancestors: [chosen] }];
}

/** The first bid goes to the collection, which makes the item; before it, there is nothing to bid for. */
function domainBid(leg: Leg, called: NetworkAction, first = Infinity): NetworkAction[] {
  if (leg.receiver > first) return [shaped(leg, 'auction_bid', DOMAIN_BID)];
  if (leg.receiver < first) return [called];
  return [
    { ...shaped(leg, 'ton_transfer', FIRST_BID), transactions: leg.transactions.slice(0, 2) },
    { ...shaped(leg, 'nft_mint', DOMAIN_MINT), transactions: leg.transactions.slice(1) },
  ];
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
  auction_bid: {
    amount: m.value,
    bidder: m.actor,
    auction: m.auctioned.offer,
    nft_item: m.auctioned.item,
    nft_collection: m.maybe(m.auctioned.collection),
    nft_item_index: m.auctioned.index,
  },
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
    nft_collection: m.collection,
  },
  delete_dns: { hash: m.hash, source: m.actor, asset: m.contract, nft_collection: m.collection },
  renew_dns: { source: m.actor, asset: m.contract, nft_collection: m.collection },
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

/** A bid for a domain: the item is its own auction. */
const DOMAIN_BID: MembersShape = {
  ...BASIC.auction_bid,
  auction: m.domain.item,
  nft_item: m.domain.item,
  nft_collection: m.domain.collection,
  nft_item_index: m.domain.index,
};

/** The comment of the first bid is the domain. */
const FIRST_BID: MembersShape = {
  source: m.actor,
  destination: m.domain.collection,
  value: m.value,
  value_extra_currencies: m.nested({}),
  comment: m.domain.name,
  encrypted: m.oneOf(false),
};

/** What the server calls the owner is who sent the message that deployed the item: the collection. */
const DOMAIN_MINT: MembersShape = {
  owner: m.domain.collection,
  nft_item: m.domain.item,
  nft_collection: m.domain.collection,
  nft_item_index: m.domain.index,
};

const BASIC_SHAPES: readonly (readonly [string, MembersShape])[] = Object.entries(BASIC);

/** What is done with items on offer, which calls are more often than the rest. */
const MARKET_SHAPES: readonly (readonly [string, MembersShape])[] = [
  ['auction_bid', BASIC.auction_bid],
  ['auction_outbid', COMPOSITE.auction_outbid],
  ['nft_put_on_sale', COMPOSITE.nft_put_on_sale],
  ['nft_cancel_sale', COMPOSITE.nft_cancel_sale],
];

/** What nominators do with their pools. */
const { stake_deposit: DEPOSIT, stake_withdrawal: WITHDRAWAL } = BASIC;
