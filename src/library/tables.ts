/**
 * The tables for Drizzle, for programs that read them: `import { transactions } from 'toncenter-etl/tables'`.
 * docs/analyst/dictionary.md explains their columns.
 */
export { account_states, account_state_changes } from '../tables/ton/account-states.ts';
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
export { blocks, block_parents } from '../tables/ton/blocks.ts';
export { dns_auctions, dns_records } from '../tables/ton/dns-records.ts';
export { extended_account_states } from '../tables/ton/extended-account-states.ts';
export { jetton_burns } from '../tables/ton/jetton-burns.ts';
export { jetton_masters } from '../tables/ton/jetton-masters.ts';
export { jetton_transfers } from '../tables/ton/jetton-transfers.ts';
export { jetton_wallets } from '../tables/ton/jetton-wallets.ts';
export { masterchain_heads } from '../tables/ton/masterchain-heads.ts';
export { messages } from '../tables/ton/messages.ts';
export { multisig_wallets, multisig_orders, multisig_order_actions } from '../tables/ton/multisig.ts';
export { nft_collections } from '../tables/ton/nft-collections.ts';
export { nft_items } from '../tables/ton/nft-items.ts';
export { nft_sales } from '../tables/ton/nft-sales.ts';
export { nft_transfers } from '../tables/ton/nft-transfers.ts';
export { nominator_events, nominator_pool_events, nominator_pools } from '../tables/ton/nominator-pools.ts';
export { shard_block_proofs } from '../tables/ton/shard-block-proofs.ts';
export { shard_states } from '../tables/ton/shard-states.ts';
export { top_accounts } from '../tables/ton/top-accounts.ts';
export { traces, trace_nodes } from '../tables/ton/traces.ts';
export { transactions } from '../tables/ton/transactions.ts';
export { validator_cycles, cycle_validators } from '../tables/ton/validator-cycles.ts';
export { validator_elections, election_participants } from '../tables/ton/validator-elections.ts';
export { validator_complaints, complaint_votes } from '../tables/ton/validator-complaints.ts';
export { validator_events } from '../tables/ton/validator-events.ts';
export { vesting_contracts } from '../tables/ton/vesting-contracts.ts';
