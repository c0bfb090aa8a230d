import type { BocMaker } from '../network/chain/boc.ts';
import { NONE } from '../network/chain/tables/block-table.ts';
import { ZERO_HASH } from '../network/chain/tables/hash-space.ts';
import type { World } from '../network/chain/world.ts';
import { accountStateJson, type AccountStateJson, extraCurrencies } from './account-state-json.ts';
import { blockId, type BlockIdJson } from './block-json.ts';
import { messageJson, type MessageJson } from './message-json.ts';
import { MESSAGE } from '../network/chain/tables/message-table.ts';
import { TRANSACTION } from '../network/chain/tables/transaction-table.ts';
import { mix32 } from '../random.ts';

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

/** Sub-phases that did not take place are absent, not null. */
interface DescriptionJson {
  readonly type: string;
  readonly aborted?: boolean;
  readonly destroyed?: boolean;
  readonly credit_first?: boolean;
  readonly is_tock?: boolean;
  readonly installed?: boolean;
  readonly storage_ph?: object;
  readonly credit_ph?: object;
  readonly compute_ph?: object;
  readonly action?: object;
  readonly bounce?: object;
  readonly split_info?: object;
}

const EXIT_CODES = [13, 35, 132, 706, 65535, -14] as const;

/** Exit code -14 is out of gas, the others are contracts' own. */
/** Of the action phase: mostly too few coins, but also currencies, sizes and libraries that will not do. */
const RESULT_CODES = [37, 37, 37, 37, 38, 34, 40, 43] as const;

function exitCode(row: number): number {
  return EXIT_CODES[mix32(row) % EXIT_CODES.length] ?? 13;
}

function storagePhase(world: World, row: number): object {
  const frozen = world.transactions.kindOf(row) === 'frozen';
  return {
    storage_fees_collected: String(world.transactions.storageFee.get(row)),
    ...(frozen ? { storage_fees_due: String(1_000_000 + (mix32(row) % 100_000_000)) } : {}),
    status_change: frozen ? 'frozen' : 'unchanged',
  };
}

function creditPhase(world: World, row: number): object {
  const message = world.transactions.inMessage.get(row);
  const extra = world.messages.extra.get(message);
  return {
    ...(mix32(row + 5) % 50 === 0 ? { due_fees_collected: '0' } : {}),
    credit: String(world.messages.value.get(message)),
    ...(extra === 0 ? {} : { credit_extra_currencies: extraCurrencies(extra) }),
  };
}

function skippedCompute(world: World, row: number): object {
  const status = world.transactions.statusBeforeOf(row);
  const value = world.messages.value.get(world.transactions.inMessage.get(row));
  const reason =
    status === 'frozen' ? 'bad_state' : status === 'active' && value < 1_000_000 ? 'no_gas' : 'no_state';
  return { skipped: true, reason };
}

function computePhase(world: World, row: number): object {
  const { transactions } = world;
  const kind = transactions.kindOf(row);
  if (kind === 'no_state' || kind === 'frozen') return skippedCompute(world, row);
  const external = transactions.importFee.get(row) > 0;
  const fees = transactions.gasFee.get(row);
  const activated = transactions.has(row, TRANSACTION.activated);
  const failed = kind === 'failed';
  return {
    skipped: false,
    success: !failed,
    msg_state_used: activated,
    account_activated: activated,
    gas_fees: String(fees),
    gas_used: String(Math.ceil(fees / 400)),
    gas_limit: external ? '0' : String(1_000_000),
    ...(external ? { gas_credit: '10000' } : {}),
    mode: 0,
    exit_code: failed ? exitCode(row) : 0,
    ...(failed && mix32(row) % 3 === 0 ? { exit_arg: (mix32(row + 1) | 0) % 1000 } : {}),
    vm_steps: 40 + (mix32(row) % 900),
    vm_init_state_hash: ZERO_HASH,
    vm_final_state_hash: ZERO_HASH,
  };
}

function actionPhase(world: World, row: number): object {
  const { transactions } = world;
  const count = transactions.outCount.get(row);
  const fees = transactions.actionFee.get(row);
  const failed = transactions.kindOf(row) === 'action_failed';
  const code = failed ? (RESULT_CODES[mix32(row + 8) % RESULT_CODES.length] ?? 37) : 0;
  const destroyed = transactions.has(row, TRANSACTION.destroyed);
  return {
    success: !failed,
    valid: !failed,
    no_funds: code === 37,
    status_change: destroyed ? 'deleted' : 'unchanged',
    ...(count > 0 ? { total_fwd_fees: String(fees * 3), total_action_fees: String(fees) } : {}),
    result_code: code,
    ...(failed ? { result_arg: 1 } : {}),
    tot_actions: count + (failed ? 2 : 0),
    spec_actions: 0,
    skipped_actions: mix32(row + 9) % 200 === 0 ? 1 : 0,
    msgs_created: count,
    action_list_hash: world.hashes('actions').text(row),
    tot_msg_size: { cells: String(count * 2), bits: String(count * 1100) },
  };
}

function bouncePhase(world: World, row: number): object {
  const { transactions } = world;
  if (!transactions.has(row, TRANSACTION.bounced))
    return { type: 'nofunds', msg_size: { cells: '0', bits: '0' }, req_fwd_fees: '400000' };
  return { type: 'ok', msg_size: { cells: '0', bits: '0' }, msg_fees: '133331', fwd_fees: '266669' };
}

function ordinary(world: World, row: number): DescriptionJson {
  const { transactions, messages } = world;
  const kind = transactions.kindOf(row);
  const message = transactions.inMessage.get(row);
  const wantsBounce = messages.has(message, MESSAGE.bounce);
  const bounces = kind !== 'ok' && kind !== 'action_failed' && wantsBounce;
  return {
    type: 'ord',
    aborted: kind !== 'ok',
    destroyed: transactions.has(row, TRANSACTION.destroyed),
    credit_first: !wantsBounce,
    storage_ph: storagePhase(world, row),
    ...(messages.isExternalIn(message) ? {} : { credit_ph: creditPhase(world, row) }),
    compute_ph: computePhase(world, row),
    ...(kind === 'ok' || kind === 'action_failed' ? { action: actionPhase(world, row) } : {}),
    ...(bounces ? { bounce: bouncePhase(world, row) } : {}),
  };
}

/** A transaction's description with the phases that took place. */
function descriptionJson(world: World, row: number): DescriptionJson {
  const { transactions } = world;
  if (transactions.inMessage.get(row) !== NONE) return ordinary(world, row);
  const kind = transactions.kindOf(row);
  if (kind === 'storage') return { type: 'storage', storage_ph: storagePhase(world, row) };
  const ran = {
    storage_ph: storagePhase(world, row),
    compute_ph: computePhase(world, row),
    action: actionPhase(world, row),
  };
  if (kind !== 'split_prepare')
    return { type: 'tick_tock', aborted: false, destroyed: false, is_tock: kind === 'tock', ...ran };
  const split_info = {
    cur_shard_pfx_len: 2,
    acc_split_depth: 0,
    this_addr: world.hashes('this').text(row),
    sibling_addr: world.hashes('sibling').text(row),
  };
  return { type: 'split_prepare', aborted: false, destroyed: false, ...ran, split_info };
}
