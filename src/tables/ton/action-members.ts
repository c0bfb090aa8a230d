/** The member of an action's `details` that a column is taken from: by default the one with the column's name. */
type MemberOfColumn = Readonly<Partial<Record<ActionColumn, string>>>;

export type ActionColumn = 'source' | 'destination' | 'asset' | 'amount';

const listedNft: MemberOfColumn = { source: 'owner', asset: 'nft_item' };
const onSale: MemberOfColumn = { ...listedNft, destination: 'sale_address' };
const onAuction: MemberOfColumn = { ...listedNft, destination: 'auction_address' };
const movedNft: MemberOfColumn = {
  source: 'old_owner',
  destination: 'new_owner',
  asset: 'nft_item',
  amount: 'price',
};
const stake: MemberOfColumn = { source: 'stake_holder', destination: 'pool' };
const toPool: MemberOfColumn = { destination: 'pool' };
const ofValue: MemberOfColumn = { amount: 'value' };
const subscription: MemberOfColumn = { source: 'subscriber', destination: 'beneficiary' };
const newKey: MemberOfColumn = { destination: 'coordinator' };

/** Types with another name for a common member in `details`. A dot leads into an inner object. */
const byType: Readonly<Record<string, MemberOfColumn>> = {
  call_contract: ofValue,
  contract_deploy: ofValue,
  ton_transfer: ofValue,
  extra_currency_transfer: ofValue,
  tick_tock: { source: 'account' },
  jetton_transfer: { source: 'sender', destination: 'receiver' },
  jetton_burn: { source: 'owner' },
  jetton_mint: { destination: 'receiver' },
  jetton_swap: { source: 'sender', asset: 'asset_in', amount: 'dex_incoming_transfer.amount' },
  nft_transfer: movedNft,
  nft_purchase: movedNft,
  nft_mint: { source: 'owner', asset: 'nft_item' },
  nft_discovery: { asset: 'nft_item' },
  nft_put_on_sale: { ...onSale, amount: 'full_price' },
  nft_cancel_sale: onSale,
  nft_update_sale: { destination: 'sale_contract', asset: 'nft_address', amount: 'full_price' },
  nft_put_on_auction: { ...onAuction, amount: 'min_bid' },
  nft_cancel_auction: onAuction,
  nft_finish_auction: onAuction,
  teleitem_start_auction: { ...onAuction, amount: 'min_bid' },
  teleitem_cancel_auction: onAuction,
  auction_bid: { source: 'bidder', destination: 'auction', asset: 'nft_item' },
  auction_outbid: { source: 'auction_address', destination: 'bidder', asset: 'nft_item' },
  dns_purchase: { destination: 'new_owner', asset: 'nft_item', amount: 'price' },
  dns_release: { asset: 'nft_item', amount: 'value' },
  stake_deposit: stake,
  stake_withdrawal: stake,
  stake_withdrawal_request: stake,
  election_deposit: { source: 'stake_holder' },
  election_recover: { source: 'stake_holder' },
  subscribe: subscription,
  unsubscribe: subscription,
  dex_deposit_liquidity: toPool,
  dex_withdraw_liquidity: toPool,
  tonco_deploy_pool: toPool,
  vesting_add_whitelist: { destination: 'vesting' },
  evaa_supply: { destination: 'recipient' },
  evaa_withdraw: { destination: 'recipient' },
  evaa_liquidate: { destination: 'borrower' },
  jvault_stake: toPool,
  jvault_unstake: toPool,
  jvault_unstake_request: toPool,
  jvault_claim: toPool,
  coffee_create_pool: toPool,
  coffee_create_pool_creator: { destination: 'deposit_recipient' },
  coffee_create_vault: { destination: 'vault', amount: 'value' },
  coffee_staking_deposit: toPool,
  coffee_staking_withdraw: toPool,
  coffee_staking_claim_rewards: { source: 'pool', destination: 'recipient' },
  coffee_mev_protect_hold_funds: { destination: 'mev_contract' },
  layerzero_send: { source: 'initiator' },
  layerzero_send_tokens: { source: 'sender', destination: 'oapp' },
  layerzero_receive: { source: 'sender', destination: 'oapp' },
  layerzero_commit_packet: { source: 'sender', destination: 'uln' },
  layerzero_dvn_verify: { source: 'initiator', destination: 'uln' },
  tgbtc_new_key: newKey,
  tgbtc_new_key_fallback: newKey,
  tgbtc_dkg_log_fallback: { source: 'coordinator' },
};

type Paths = Readonly<Record<ActionColumn, readonly string[]>>;

function pathsOf(members: MemberOfColumn): Paths {
  const path = (column: ActionColumn) => (members[column] ?? column).split('.');
  return {
    source: path('source'),
    destination: path('destination'),
    asset: path('asset'),
    amount: path('amount'),
  };
}

const plain = pathsOf({});
const paths = new Map(Object.entries(byType).map(([type, members]) => [type, pathsOf(members)]));

/** The path within `details` of what a column holds, from the outermost name to the innermost. */
export function actionPath(type: string, column: ActionColumn): readonly string[] {
  return (paths.get(type) ?? plain)[column];
}

/** For the column's comment: `details.source; of jetton_burn, nft_mint details.owner; …`. */
export function documentedMembers(column: ActionColumn): string {
  const types = new Map<string, string[]>();
  for (const [type, members] of Object.entries(byType)) {
    const member = members[column];
    if (member !== undefined) types.set(member, [...(types.get(member) ?? []), type]);
  }
  const others = [...types].map(([member, names]) => `; of ${names.join(', ')} details.${member}`);
  return `details.${column}${others.join('')}`;
}
