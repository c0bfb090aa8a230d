/**
 * The tables for Drizzle, for programs that read them: `import { transactions } from 'toncenter-etl/tables'`.
 * docs/analyst/dictionary.md explains their columns.
 */
export {
  account_states,
  account_state_changes,
  extended_account_states,
  top_accounts,
} from '../tables/ton/account-states.ts';
export {
  account_transactions,
  account_messages,
  message_locations,
} from '../tables/ton/account-transactions.ts';
export { actions, action_accounts, action_transactions } from '../tables/ton/actions.ts';
export {
  address_book,
  token_metadata,
  jetton_descriptions,
  nft_descriptions,
} from '../tables/ton/address-book.ts';
export {
  blocks,
  block_parents,
  masterchain_heads,
  shard_block_proofs,
  shard_states,
} from '../tables/ton/blocks.ts';
export { dns_auctions, dns_records } from '../tables/ton/dns-records.ts';
export {
  jetton_burns,
  jetton_masters,
  jetton_transfers,
  jetton_wallets,
  nft_collections,
  nft_items,
  nft_sales,
  nft_transfers,
} from '../tables/ton/jettons-and-nfts.ts';
export { multisig_wallets, multisig_orders, multisig_order_actions } from '../tables/ton/multisig.ts';
export { traces, trace_nodes } from '../tables/ton/traces.ts';
export { messages, transactions } from '../tables/ton/transactions.ts';
export {
  validator_cycles,
  cycle_validators,
  validator_elections,
  election_participants,
  validator_complaints,
  complaint_votes,
  validator_events,
  nominator_events,
  nominator_pool_events,
  nominator_pools,
} from '../tables/ton/validators-and-pools.ts';
export { vesting_contracts } from '../tables/ton/vesting-contracts.ts';
