import type { BocMaker } from '../network/chain/boc.ts';
import { NONE } from '../network/chain/tables/block-table.ts';
import { ZERO_HASH } from '../network/chain/tables/hash-space.ts';
import type { World } from '../network/chain/world.ts';
import { accountStateJson, type AccountStateJson } from './account-state-json.ts';
import { blockId, type BlockIdJson } from './block-json.ts';
import { descriptionJson, type DescriptionJson } from './description-json.ts';
import { messageJson, type MessageJson } from './message-json.ts';

/** A transaction as v3 prints it. */
export interface TransactionJson {
  readonly account: string;
  readonly hash: string;
  readonly lt: string;
  readonly now: number;
  readonly mc_block_seqno: number;
  readonly trace_id: string;
  readonly prev_trans_hash: string;
  readonly prev_trans_lt: string;
  readonly orig_status: string;
  readonly end_status: string;
  readonly total_fees: string;
  readonly total_fees_extra_currencies: Readonly<Record<string, string>>;
  readonly description: DescriptionJson;
  readonly block_ref: BlockIdJson;
  readonly in_msg: MessageJson | null;
  readonly out_msgs: readonly MessageJson[];
  readonly account_state_before: AccountStateJson;
  readonly account_state_after: AccountStateJson;
  readonly emulated: boolean;
  readonly finality: string;
}

function outMessages(world: World, bocs: BocMaker, row: number): MessageJson[] {
  const first = world.transactions.firstOut.get(row);
  return Array.from({ length: world.transactions.outCount.get(row) }, (_, index) =>
    messageJson(world, bocs, first + index),
  );
}

/** The JSON of one transaction. A chain of states that begins anew has no predecessor, whatever the account was before. */
export function transactionJson(world: World, bocs: BocMaker, row: number): TransactionJson {
  const { transactions, traces } = world;
  const hashes = world.hashes('transaction');
  const begins = transactions.statusBeforeOf(row) === 'nonexist';
  const previous = begins ? NONE : transactions.previous.get(row);
  const inMessage = transactions.inMessage.get(row);
  return {
    account: world.accounts.address(transactions.account.get(row)),
    hash: hashes.text(row),
    lt: String(transactions.lt.get(row)),
    now: world.utimeOf(row),
    mc_block_seqno: world.seqnoOfTick(world.tickOf(row)),
    trace_id: hashes.text(traces.root.get(transactions.trace.get(row))),
    prev_trans_hash: previous === NONE ? ZERO_HASH : hashes.text(previous),
    prev_trans_lt: previous === NONE ? '0' : String(transactions.lt.get(previous)),
    orig_status: transactions.statusBeforeOf(row),
    end_status: transactions.statusAfterOf(row),
    total_fees: String(transactions.totalFees(row)),
    total_fees_extra_currencies: {},
    description: descriptionJson(world, row),
    block_ref: blockId(world, transactions.block.get(row)),
    in_msg: inMessage === NONE ? null : messageJson(world, bocs, inMessage),
    out_msgs: outMessages(world, bocs, row),
    account_state_before: accountStateJson(world, previous),
    account_state_after: accountStateJson(world, row),
    emulated: false,
    finality: 'finalized',
  };
}
