import { relations } from 'drizzle-orm';
import { action_accounts, action_transactions, actions } from '../../src/tables/ton/actions.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import {
  jetton_burns,
  jetton_masters,
  jetton_wallets,
  jetton_transfers,
  nft_collections,
  nft_items,
  nft_transfers,
  nft_sales,
} from '../../src/tables/ton/jettons-and-nfts.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import { multisig_order_actions, multisig_orders, multisig_wallets } from '../../src/tables/ton/multisig.ts';
import {
  nominator_events,
  nominator_pool_events,
  nominator_pools,
  cycle_validators,
  validator_cycles,
  election_participants,
  validator_elections,
  validator_events,
  complaint_votes,
  validator_complaints,
} from '../../src/tables/ton/validators-and-pools.ts';
import { trace_nodes, traces } from '../../src/tables/ton/traces.ts';

/*
 * How tables are joined, for the diagram in docs/analyst. The database has no foreign keys between them: the
 * other row may not be stored (yet). If both sides have the block time, it is part of the join, so that only
 * the needed partitions are read.
 */

export const blockRelations = relations(blocks, ({ one }) => ({
  registered_by: one(blocks, {
    fields: [
      blocks.masterchain_block_ref_workchain,
      blocks.masterchain_block_ref_shard,
      blocks.masterchain_block_ref_seqno,
    ],
    references: [blocks.workchain, blocks.shard, blocks.seqno],
  }),
}));

export const blockParentRelations = relations(block_parents, ({ one }) => ({
  child: one(blocks, {
    fields: [block_parents.utime, block_parents.workchain, block_parents.shard, block_parents.seqno],
    references: [blocks.utime, blocks.workchain, blocks.shard, blocks.seqno],
  }),
  parent: one(blocks, {
    fields: [block_parents.parent_workchain, block_parents.parent_shard, block_parents.parent_seqno],
    references: [blocks.workchain, blocks.shard, blocks.seqno],
  }),
}));

export const transactionRelations = relations(transactions, ({ one }) => ({
  block: one(blocks, {
    fields: [
      transactions.utime,
      transactions.block_workchain,
      transactions.block_shard,
      transactions.block_seqno,
    ],
    references: [blocks.utime, blocks.workchain, blocks.shard, blocks.seqno],
  }),
  started_by: one(messages, {
    fields: [transactions.in_msg_utime, transactions.in_msg_hash],
    references: [messages.utime, messages.hash],
  }),
  trace: one(traces, { fields: [transactions.trace_id], references: [traces.trace_id] }),
  previous: one(transactions, {
    fields: [transactions.prev_trans_hash],
    references: [transactions.hash],
  }),
}));

export const messageRelations = relations(messages, ({ one }) => ({
  sent_by: one(transactions, {
    fields: [messages.utime, messages.out_msg_tx_hash],
    references: [transactions.utime, transactions.hash],
  }),
}));

export const traceNodeRelations = relations(trace_nodes, ({ one }) => ({
  trace: one(traces, {
    fields: [trace_nodes.utime, trace_nodes.trace_id],
    references: [traces.utime, traces.trace_id],
  }),
  transaction: one(transactions, { fields: [trace_nodes.tx_hash], references: [transactions.hash] }),
  parent: one(trace_nodes, {
    fields: [trace_nodes.utime, trace_nodes.trace_id, trace_nodes.parent_tx_hash],
    references: [trace_nodes.utime, trace_nodes.trace_id, trace_nodes.tx_hash],
  }),
}));

export const actionRelations = relations(actions, ({ one }) => ({
  trace: one(traces, {
    fields: [actions.utime, actions.trace_id],
    references: [traces.utime, traces.trace_id],
  }),
}));

export const actionAccountRelations = relations(action_accounts, ({ one }) => ({
  action: one(actions, {
    fields: [action_accounts.utime, action_accounts.trace_id, action_accounts.action_id],
    references: [actions.utime, actions.trace_id, actions.action_id],
  }),
}));

export const actionTransactionRelations = relations(action_transactions, ({ one }) => ({
  action: one(actions, {
    fields: [action_transactions.utime, action_transactions.trace_id, action_transactions.action_id],
    references: [actions.utime, actions.trace_id, actions.action_id],
  }),
  transaction: one(transactions, {
    fields: [action_transactions.tx_hash],
    references: [transactions.hash],
  }),
}));

export const jettonTransferRelations = relations(jetton_transfers, ({ one }) => ({
  transaction: one(transactions, {
    fields: [jetton_transfers.utime, jetton_transfers.transaction_hash],
    references: [transactions.utime, transactions.hash],
  }),
  trace: one(traces, { fields: [jetton_transfers.trace_id], references: [traces.trace_id] }),
  master: one(jetton_masters, {
    fields: [jetton_transfers.jetton_master],
    references: [jetton_masters.address],
  }),
}));

export const jettonBurnRelations = relations(jetton_burns, ({ one }) => ({
  transaction: one(transactions, {
    fields: [jetton_burns.utime, jetton_burns.transaction_hash],
    references: [transactions.utime, transactions.hash],
  }),
  trace: one(traces, { fields: [jetton_burns.trace_id], references: [traces.trace_id] }),
  master: one(jetton_masters, {
    fields: [jetton_burns.jetton_master],
    references: [jetton_masters.address],
  }),
}));

export const nftTransferRelations = relations(nft_transfers, ({ one }) => ({
  transaction: one(transactions, {
    fields: [nft_transfers.utime, nft_transfers.transaction_hash],
    references: [transactions.utime, transactions.hash],
  }),
  trace: one(traces, { fields: [nft_transfers.trace_id], references: [traces.trace_id] }),
  item: one(nft_items, { fields: [nft_transfers.nft_address], references: [nft_items.address] }),
}));

export const validatorEventRelations = relations(validator_events, ({ one }) => ({
  transaction: one(transactions, {
    fields: [validator_events.utime, validator_events.tx_hash],
    references: [transactions.utime, transactions.hash],
  }),
}));

export const nominatorPoolEventRelations = relations(nominator_pool_events, ({ one }) => ({
  transaction: one(transactions, {
    fields: [nominator_pool_events.utime, nominator_pool_events.tx_hash],
    references: [transactions.utime, transactions.hash],
  }),
}));

export const nominatorEventRelations = relations(nominator_events, ({ one }) => ({
  transaction: one(transactions, {
    fields: [nominator_events.utime, nominator_events.tx_hash],
    references: [transactions.utime, transactions.hash],
  }),
  pool: one(nominator_pools, {
    fields: [nominator_events.pool_address],
    references: [nominator_pools.address],
  }),
}));

export const complaintVoteRelations = relations(complaint_votes, ({ one }) => ({
  complaint: one(validator_complaints, {
    fields: [complaint_votes.utime, complaint_votes.election_id, complaint_votes.complaint_hash],
    references: [
      validator_complaints.utime,
      validator_complaints.election_id,
      validator_complaints.complaint_hash,
    ],
  }),
}));

export const electionParticipantRelations = relations(election_participants, ({ one }) => ({
  election: one(validator_elections, {
    fields: [election_participants.utime, election_participants.election_id],
    references: [validator_elections.utime, validator_elections.election_id],
  }),
}));

export const cycleValidatorRelations = relations(cycle_validators, ({ one }) => ({
  cycle: one(validator_cycles, {
    fields: [cycle_validators.utime, cycle_validators.cycle_start],
    references: [validator_cycles.utime, validator_cycles.cycle_start],
  }),
}));

export const jettonWalletRelations = relations(jetton_wallets, ({ one }) => ({
  master: one(jetton_masters, { fields: [jetton_wallets.jetton], references: [jetton_masters.address] }),
}));

export const nftItemRelations = relations(nft_items, ({ one }) => ({
  collection: one(nft_collections, {
    fields: [nft_items.collection_address],
    references: [nft_collections.address],
  }),
  sale: one(nft_sales, { fields: [nft_items.sale_contract_address], references: [nft_sales.address] }),
}));

export const nftSaleRelations = relations(nft_sales, ({ one }) => ({
  item: one(nft_items, { fields: [nft_sales.nft_address], references: [nft_items.address] }),
}));

export const multisigOrderRelations = relations(multisig_orders, ({ one }) => ({
  wallet: one(multisig_wallets, {
    fields: [multisig_orders.multisig_address],
    references: [multisig_wallets.address],
  }),
}));

export const multisigOrderActionRelations = relations(multisig_order_actions, ({ one }) => ({
  order: one(multisig_orders, {
    fields: [multisig_order_actions.order_address],
    references: [multisig_orders.address],
  }),
}));
