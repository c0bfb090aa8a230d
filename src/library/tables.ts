/**
 * The tables of the data for Drizzle, for programs that read them: `import { transactions } from 'toncenter-etl/tables'`.
 * docs/analyst/dictionary.md explains their columns.
 */
export { account_states, account_state_changes } from '../db/schema/ton/account-states.ts';
export {
  account_transactions,
  account_messages,
  message_locations,
} from '../db/schema/ton/account-transactions.ts';
export { actions, action_accounts, action_transactions } from '../db/schema/ton/actions.ts';
export { address_book, token_metadata } from '../db/schema/ton/address-book.ts';
export { blocks, block_parents } from '../db/schema/ton/blocks.ts';
export { dns_records } from '../db/schema/ton/dns-records.ts';
export { extended_account_states } from '../db/schema/ton/extended-account-states.ts';
export { jetton_burns } from '../db/schema/ton/jetton-burns.ts';
export { jetton_masters } from '../db/schema/ton/jetton-masters.ts';
export { jetton_transfers } from '../db/schema/ton/jetton-transfers.ts';
export { jetton_wallets } from '../db/schema/ton/jetton-wallets.ts';
export { masterchain_heads } from '../db/schema/ton/masterchain-heads.ts';
export { messages } from '../db/schema/ton/messages.ts';
export { multisig_wallets, multisig_orders, multisig_order_actions } from '../db/schema/ton/multisig.ts';
export { nft_collections } from '../db/schema/ton/nft-collections.ts';
export { nft_items } from '../db/schema/ton/nft-items.ts';
export { nft_sales } from '../db/schema/ton/nft-sales.ts';
export { nft_transfers } from '../db/schema/ton/nft-transfers.ts';
export { nominator_pool_events } from '../db/schema/ton/nominator-pool-events.ts';
export { shard_block_proofs } from '../db/schema/ton/shard-block-proofs.ts';
export { shard_states } from '../db/schema/ton/shard-states.ts';
export { top_accounts } from '../db/schema/ton/top-accounts.ts';
export { traces, trace_edges } from '../db/schema/ton/traces.ts';
export { transactions } from '../db/schema/ton/transactions.ts';
export { validator_complaints, complaint_votes } from '../db/schema/ton/validator-complaints.ts';
export { validator_events } from '../db/schema/ton/validator-events.ts';
export { vesting_contracts } from '../db/schema/ton/vesting-contracts.ts';
