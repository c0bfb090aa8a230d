import type { Random } from '../../../random.ts';
import type { AccountStates } from './generate-account-states.ts';
import { coinsKept } from '../exchanges.ts';
import { NONE } from '../tables/block-table.ts';
import { MESSAGE, OUTSIDE, SYSTEM, type Op } from '../tables/message-table.ts';
import { reactionsTo, type OutgoingMessage } from './reactions.ts';
import type { Round } from './round.ts';
import { TRANSACTION, type Draft, type Kind } from '../tables/transaction-table.ts';
import type { World } from '../world.ts';

const FORWARD_FEE = 266_669;
const FORWARD_ACTION_FEE = 133_331;
const CONTRACT_RESERVE = 10_000_000;

/** The position of a new transaction: an account's turn in a block of a round, and its trace. */
export interface Turn {
  readonly round: Round;
  readonly block: number;
  readonly account: number;
  readonly trace: number;
}

/** Executes transactions: moves money, changes states, writes messages. The books always balance. */
export class Executor {
  readonly world: World;
  readonly states: AccountStates;
  readonly random: Random;

  constructor(world: World, states: AccountStates, random: Random) {
    this.world = world;
    this.states = states;
    this.random = random;
  }

  /** A wallet accepts an external message and sends what it says; with `sweep` it sends everything and is gone. */
  external(turn: Turn, outs: readonly OutgoingMessage[]): Draft {
    const { round, account } = turn;
    const deploys = this.states.statusOf(account) !== 'active';
    const message = this.write(round, turn.trace, {
      op: 'wallet_signed',
      source: OUTSIDE,
      destination: account,
      flags: deploys ? MESSAGE.initState : 0,
    });
    const draft = this.draft(turn, message);
    draft.importFee = 400_000 + this.random.below(900_000);
    draft.gasFee = 1_300_000 + this.random.below(3_000_000);
    draft.statusAfter = 'active';
    if (deploys) draft.flags |= TRANSACTION.activated;
    this.send(round, draft, outs);
    return this.close(round, draft);
  }

  /** A wallet sends all it has and ceases to exist. */
  sweep(turn: Turn, target: number): Draft {
    const { round } = turn;
    const message = this.write(round, turn.trace, {
      op: 'wallet_signed',
      source: OUTSIDE,
      destination: turn.account,
      flags: 0,
    });
    const draft = this.draft(turn, message);
    draft.importFee = 500_000;
    draft.gasFee = 1_700_000;
    const spent = draft.storageFee + draft.importFee + draft.gasFee + FORWARD_FEE + FORWARD_ACTION_FEE;
    const all = draft.balance - spent;
    this.send(round, draft, [{ op: 'empty', to: target, value: all, bounce: false, extra: draft.extra }]);
    draft.statusAfter = 'nonexist';
    draft.flags |= TRANSACTION.destroyed;
    return this.close(round, draft);
  }

  /** A transaction without a message: tick, tock and rare kinds of the protocol. */
  spontaneous(turn: Turn, kind: Kind): Draft {
    const draft = this.draft(turn, NONE);
    draft.kind = kind;
    if (this.world.accounts.isMasterchain(turn.account)) draft.storageFee = 0;
    return this.close(turn.round, draft);
  }

  /** The protocol's own message to a special contract of the masterchain. */
  emission({ round, block, account, trace }: Turn, value: number, extra: number): Draft {
    const flags = this.states.isActive(account) ? 0 : MESSAGE.initState;
    const message = this.write(round, trace, {
      op: 'system',
      source: SYSTEM,
      destination: account,
      flags,
      value,
      extra,
    });
    return this.receive(round, block, message);
  }

  /** The receiver of a message processes it, at an lt above `floor`. */
  receive(round: Round, block: number, message: number, floor = 0): Draft {
    const { messages } = this.world;
    const receiver = messages.destination.get(message);
    const turn = { round, block, account: receiver, trace: messages.trace.get(message) };
    const draft = this.draft(turn, message, floor);
    const value = messages.value.get(message);
    draft.kind = outcomeOf(this, draft, message);
    draft.balance += value;
    draft.extra += messages.extra.get(message);
    if (draft.kind === 'ok') this.runCode(round, draft, message, value);
    else this.fallThrough(round, draft, message, value);
    return this.close(round, draft);
  }

  private runCode(round: Round, draft: Draft, message: number, value: number): void {
    if (draft.statusBefore !== 'active') {
      draft.statusAfter = 'active';
      draft.flags |= TRANSACTION.activated;
    }
    draft.gasFee = Math.min(1_000_000 + this.random.below(5_000_000), Math.floor(value * 0.4));
    const received = { account: draft.account, message, utime: draft.utime };
    const outs = reactionsTo(this, received);
    this.states.market.take(received);
    const poor =
      draft.balance - value < CONTRACT_RESERVE && this.world.accounts.role(draft.account) !== 'wallet';
    const kept = coinsKept(this.world, message) + (poor ? CONTRACT_RESERVE : 0);
    this.send(round, draft, outs, value - kept);
  }

  /** The code did not run, or failed: the value is returned if the sender wants that. */
  private fallThrough(round: Round, draft: Draft, message: number, value: number): void {
    if (draft.kind === 'failed')
      draft.gasFee = Math.min(1_746_000 + this.random.below(2_000_000), Math.floor(value * 0.5));
    if (draft.kind === 'action_failed') draft.gasFee = Math.min(3_238_400, Math.floor(value * 0.5));
    if (draft.kind === 'frozen') draft.statusAfter = 'frozen';
    const back = value - draft.gasFee - FORWARD_FEE - FORWARD_ACTION_FEE;
    const { messages } = this.world;
    const bounces = messages.has(message, MESSAGE.bounce) && draft.kind !== 'action_failed' && back > 0;
    if (bounces) {
      draft.flags |= TRANSACTION.bounced;
      const extra = messages.extra.get(message);
      const returns = messages.opOf(message) === 'jetton_internal_transfer';
      const amount = returns ? messages.amount.get(message) : 0;
      this.send(round, draft, [
        { op: 'bounced', to: messages.source.get(message), value: back, bounce: false, extra, amount },
      ]);
    } else if (draft.statusBefore === 'nonexist') draft.statusAfter = 'uninit';
  }

  private draft({ block, account, trace }: Turn, inMessage: number, floor = 0): Draft {
    const { world, states } = this;
    const created = inMessage === NONE ? 0 : world.messages.createdLt.get(inMessage);
    const status = states.statusOf(account);
    return {
      account,
      lt: Math.max(world.blocks.startLt.get(block), states.endLt[account] ?? 0, created, floor) + 1,
      utime: world.blocks.utime.get(block),
      block,
      trace,
      inMessage,
      kind: 'ok',
      flags: 0,
      firstOut: world.messages.count,
      outCount: 0,
      storageFee: status === 'nonexist' ? 0 : Math.min(this.random.below(2000), states.balanceOf(account)),
      gasFee: 0,
      actionFee: 0,
      importFee: 0,
      balance: states.balanceOf(account),
      extra: states.extraOf(account),
      statusBefore: status,
      statusAfter: status,
      previous: states.latest[account] ?? world.latest[account] ?? NONE,
      row: NONE,
    };
  }

  /** Writes the messages that the account can pay for. `available`: what a `rest` can be taken from. */
  private send(round: Round, draft: Draft, outs: readonly OutgoingMessage[], available = 0): void {
    draft.firstOut = this.world.messages.count;
    const fixed = this.fixedCost(outs);
    if (draft.inMessage !== NONE && available > 0 && fixed > available - draft.gasFee) return;
    for (const out of outs) {
      const value = out.value === 'rest' ? available - draft.gasFee - fixed - this.costOf(out) : out.value;
      if (out.value === 'rest' && value < 1000) continue;
      this.sendOne(round, draft, out, value + (out.own ?? 0));
    }
  }

  private sendOne(round: Round, draft: Draft, out: OutgoingMessage, value: number): void {
    const { extra = 0, amount = 0, party = NONE } = out;
    this.write(round, draft.trace, {
      op: out.op,
      source: draft.account,
      destination: out.to,
      flags: this.flagsOf(out),
      value,
      extra,
      createdLt: draft.lt + 1 + draft.outCount,
      createdAt: draft.utime,
      amount,
      party,
    });
    draft.outCount++;
    draft.actionFee += FORWARD_ACTION_FEE;
    draft.balance -= value + (out.to === OUTSIDE ? 0 : FORWARD_FEE);
    draft.extra -= extra;
  }

  /** What the messages cost whose value does not depend on what is left. */
  private fixedCost(outs: readonly OutgoingMessage[]): number {
    return outs.reduce((sum, out) => sum + (out.value === 'rest' ? 0 : out.value + this.costOf(out)), 0);
  }

  private flagsOf(out: OutgoingMessage): number {
    const initState = this.needsInitState(out) ? MESSAGE.initState : 0;
    return (out.bounce ? MESSAGE.bounce : 0) | initState | (out.sure === true ? MESSAGE.sure : 0);
  }

  private costOf(out: OutgoingMessage): number {
    return FORWARD_ACTION_FEE + (out.to === OUTSIDE ? 0 : FORWARD_FEE);
  }

  /** Contracts are deployed by the first message that they get; wallets bring their own code. */
  private needsInitState(out: OutgoingMessage): boolean {
    if (out.to === OUTSIDE || out.op === 'bounced' || out.op === 'excess') return false;
    const status = this.states.statusOf(out.to);
    const { accounts } = this.world;
    const brings = accounts.role(out.to) === 'wallet' && !accounts.isExchange(out.to);
    return brings ? status === 'frozen' && out.op === 'empty' : status !== 'active';
  }

  private write(round: Round, trace: number, message: NewMessage): number {
    const outside = message.source === OUTSIDE;
    const internal = !outside && message.destination !== OUTSIDE;
    return this.world.messages.push({
      op: message.op,
      source: message.source,
      destination: message.destination,
      value: message.value ?? 0,
      extra: message.extra ?? 0,
      fwdFee: internal && message.source !== SYSTEM ? FORWARD_FEE : 0,
      createdLt: outside ? 0 : (message.createdLt ?? round.baseLt),
      createdAt: outside ? 0 : (message.createdAt ?? round.utime),
      flags: message.flags,
      trace,
      round: round.index,
      amount: message.amount ?? 0,
      party: message.party ?? NONE,
    });
  }

  private close(round: Round, draft: Draft): Draft {
    draft.balance -= draft.storageFee + draft.gasFee + draft.actionFee + draft.importFee;
    this.states.apply(draft);
    const { blocks, traces } = this.world;
    blocks.endLt.set(draft.block, Math.max(blocks.endLt.get(draft.block), draft.lt + draft.outCount + 1));
    blocks.transactions.set(draft.block, blocks.transactions.get(draft.block) + 1);
    traces.transactions.set(draft.trace, traces.transactions.get(draft.trace) + 1);
    round.drafts.push(draft);
    return draft;
  }
}

interface NewMessage {
  readonly op: Op;
  readonly source: number;
  readonly destination: number;
  readonly flags: number;
  readonly value?: number;
  readonly extra?: number;
  readonly createdLt?: number;
  readonly createdAt?: number;
  readonly amount?: number;
  readonly party?: number;
}

/** Below this value a contract has no gas to run on. */
const LEAST_FOR_GAS = 1_000_000;

/** How often the receiver's code throws. */
const FAILURES: Readonly<Partial<Record<Op, number>>> = {
  call: 0.12,
  jetton_transfer: 0.02,
  nft_transfer: 0.06,
  jetton_burn: 0.01,
};

function failureRate({ options }: World, op: Op): number {
  return op === 'jetton_internal_transfer' ? options.refusals : (FAILURES[op] ?? 0);
}

/** Decides how an account processes the message that it has received. */
function outcomeOf({ world, states, random }: Executor, draft: Draft, message: number): Kind {
  const { messages } = world;
  const { account, utime } = draft;
  const op = messages.opOf(message);
  if (draft.statusBefore !== 'active') return messages.has(message, MESSAGE.initState) ? 'ok' : 'no_state';
  if (messages.value.get(message) < LEAST_FOR_GAS) return 'no_state';
  if (messages.has(message, MESSAGE.sure)) return 'ok';
  if (states.market.refuses({ account, message, utime })) return 'failed';
  if (canFreeze(world, draft.account, op) && random.chance(0.001)) return 'frozen';
  if (op === 'call' && random.chance(0.02)) return 'action_failed';
  return random.chance(failureRate(world, op)) ? 'failed' : 'ok';
}

/** Wallets that are sent plain money may turn out to be frozen. */
function canFreeze({ accounts }: World, account: number, op: Op): boolean {
  if (op !== 'empty' && op !== 'text_comment') return false;
  return accounts.role(account) === 'wallet' && !accounts.isExchange(account);
}
