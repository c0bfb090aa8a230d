/**
 * The tables of the data for Drizzle, for programs that read them: `import { transactions } from 'toncenter-etl/tables'`.
 * docs/analyst/dictionary.md explains their columns.
 */
export { account_states, account_state_changes } from './db/schema/account-states.ts';
export {
  account_transactions,
  account_messages,
  message_locations,
} from './db/schema/account-transactions.ts';
export { actions, action_accounts, action_transactions } from './db/schema/actions.ts';
export { address_book, token_metadata } from './db/schema/address-book.ts';
export { blocks, block_parents } from './db/schema/blocks.ts';
export { dns_records } from './db/schema/dns-records.ts';
export { extended_account_states } from './db/schema/extended-account-states.ts';
export { jetton_burns } from './db/schema/jetton-burns.ts';
export { jetton_masters } from './db/schema/jetton-masters.ts';
export { jetton_transfers } from './db/schema/jetton-transfers.ts';
export { jetton_wallets } from './db/schema/jetton-wallets.ts';
export { masterchain_heads } from './db/schema/masterchain-heads.ts';
export { messages } from './db/schema/messages.ts';
export { multisig_wallets, multisig_orders, multisig_order_actions } from './db/schema/multisig.ts';
export { nft_collections } from './db/schema/nft-collections.ts';
export { nft_items } from './db/schema/nft-items.ts';
export { nft_sales } from './db/schema/nft-sales.ts';
export { nft_transfers } from './db/schema/nft-transfers.ts';
export { nominator_pool_events } from './db/schema/nominator-pool-events.ts';
export { shard_block_proofs } from './db/schema/shard-block-proofs.ts';
export { shard_states } from './db/schema/shard-states.ts';
export { top_accounts } from './db/schema/top-accounts.ts';
export { traces, trace_edges } from './db/schema/traces.ts';
export { transactions } from './db/schema/transactions.ts';
export { validator_complaints, complaint_votes } from './db/schema/validator-complaints.ts';
export { validator_events } from './db/schema/validator-events.ts';
export { vesting_contracts } from './db/schema/vesting-contracts.ts';
