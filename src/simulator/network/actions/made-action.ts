import type { BocMaker } from '../chain/boc.ts';
import { NONE } from '../chain/tables/block-table.ts';
import type { World } from '../chain/world.ts';
import type { Build } from '../../build.ts';

/** One action of a trace, as the classifier sees it. Numbers are rows of the network. */
export interface NetworkAction {
  /** The type as it is stored and filtered by. */
  readonly type: string;
  /** Types of the composite actions that it is a part of: where one of them is supported, this one is hidden. */
  readonly ancestors: readonly string[];
  /** Ascending by (lt, account). */
  readonly transactions: readonly number[];
  readonly success: boolean | null;
  readonly details: () => object;
}

/** A message of a trace's first transaction, with everything that followed from it. */
export interface Leg {
  readonly world: World;
  readonly bocs: BocMaker;
  readonly trace: number;
  readonly message: number;
  /** The transaction that received it. */
  readonly receiver: number;
  /** The sender's transaction and all that followed from the message, ascending. */
  readonly transactions: readonly number[];
}

/** The leg that begins with a message of `sender`; undefined for what left the network. */
export function legOf(world: World, bocs: BocMaker, sender: number, message: number): Leg | undefined {
  const receiver = world.messages.inTransaction.get(message);
  if (receiver === NONE) return undefined;
  const rows = [sender, receiver];
  for (let at = 1; at < rows.length; at++) rows.push(...world.childrenOf(rows[at] ?? NONE));
  const transactions = rows.sort((a, b) => a - b);
  return { world, bocs, trace: world.messages.trace.get(message), message, receiver, transactions };
}

export function succeeded({ world, receiver }: Leg): boolean {
  return world.transactions.kindOf(receiver) === 'ok';
}

const V1 = [
  'call_contract',
  'contract_deploy',
  'ton_transfer',
  'stake_deposit',
  'stake_withdrawal',
  'stake_withdrawal_request',
  'dex_deposit_liquidity',
  'jetton_transfer',
  'nft_transfer',
  'nft_mint',
  'jetton_burn',
  'jetton_mint',
  'jetton_swap',
  'change_dns',
  'delete_dns',
  'renew_dns',
  'subscribe',
  'dex_withdraw_liquidity',
  'unsubscribe',
  'election_deposit',
  'election_recover',
  'auction_bid',
  'tick_tock',
] as const;

const V2 = [
  'multisig_create_order',
  'multisig_approve',
  'multisig_execute',
  'vesting_send_message',
  'vesting_add_whitelist',
  'evaa_supply',
  'evaa_withdraw',
  'evaa_liquidate',
  'jvault_stake',
  'jvault_unstake',
  'jvault_claim',
  'jvault_unstake_request',
  'nft_discovery',
  'tonco_deploy_pool',
  'coffee_create_vault',
  'coffee_create_pool_creator',
  'coffee_create_pool',
  'coffee_mev_protect_hold_funds',
  'coffee_mev_protect_failed_swap',
  'coffee_staking_claim_rewards',
  'coffee_staking_deposit',
  'coffee_staking_withdraw',
  'unknown',
] as const;

const NFT_MARKET = [
  'nft_put_on_sale',
  'nft_put_on_auction',
  'auction_outbid',
  'nft_cancel_sale',
  'nft_purchase',
  'nft_cancel_auction',
  'nft_finish_auction',
  'teleitem_start_auction',
  'teleitem_cancel_auction',
  'nft_update_sale',
  'dns_purchase',
  'dns_release',
] as const;

const LAYERZERO = [
  'layerzero_send',
  'layerzero_send_tokens',
  'layerzero_receive',
  'layerzero_commit_packet',
  'layerzero_dvn_verify',
] as const;

const COCOON = [
  'cocoon_worker_payout',
  'cocoon_proxy_payout',
  'cocoon_proxy_charge',
  'cocoon_client_top_up',
  'cocoon_register_proxy',
  'cocoon_unregister_proxy',
  'cocoon_client_register',
  'cocoon_client_change_secret_hash',
  'cocoon_client_request_refund',
  'cocoon_grant_refund',
  'cocoon_client_increase_stake',
  'cocoon_client_withdraw',
] as const;

const DEDUST = ['dedust_v2_claim_fees', 'dedust_v2_claim_reward'] as const;

/** Names that stand for several. `tgbtc` types are in none of the versions. */
const SHORTCUTS: Readonly<Record<string, readonly string[]>> = {
  v1: V1,
  v2: ['v1', ...V2],
  v3: ['v2', ...NFT_MARKET, ...LAYERZERO],
  v4: ['v3', ...COCOON],
  v5: ['v4', ...DEDUST],
  staking: ['stake_deposit', 'stake_withdrawal', 'stake_withdrawal_request'],
  jettons: ['jetton_transfer', 'jetton_burn', 'jetton_mint'],
  nft: ['nft_transfer', 'nft_mint', 'auction_bid'],
  dns: ['change_dns', 'delete_dns', 'renew_dns', 'dns_purchase', 'dns_release'],
  multisig: ['multisig_create_order', 'multisig_approve', 'multisig_execute'],
  vesting: ['vesting_send_message', 'vesting_add_whitelist'],
  evaa: ['evaa_supply', 'evaa_withdraw', 'evaa_liquidate'],
  layerzero: LAYERZERO,
  cocoon: COCOON,
};

/**
 * The types that a list of types and shortcuts supports: `latest` where it is empty, and v1 always. Build 1.2 knows no
 * v5: there the word is a type that nothing has.
 */
export function supportedTypes(names: readonly string[], build: Build): ReadonlySet<string> {
  const types = new Set<string>();
  const add = (name: string): void => {
    const known = name === 'v5' && build === '1.2' ? undefined : SHORTCUTS[name];
    if (name === 'latest') add(build === '1.2' ? 'v4' : 'v5');
    else if (known === undefined) types.add(name);
    else known.forEach(add);
  };
  (names.length === 0 ? ['latest'] : names).forEach(add);
  add('v1');
  return types;
}
