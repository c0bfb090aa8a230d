import type { Random } from '../../../random.ts';
import type { AccountStates } from './generate-account-states.ts';
import { ELECTOR } from '../tables/accounts.ts';
import { OUTSIDE, type Op } from '../tables/message-table.ts';
import { otherParty, refusedBy, sentAmount } from '../jetton-parties.ts';
import type { World } from '../world.ts';

/** A message that a transaction wants to send. */
export interface OutgoingMessage {
  readonly op: Op;
  /** An account, or OUTSIDE for a log. */
  readonly to: number;
  /** Nanotons; `rest`: what is left of the value received. */
  readonly value: number | 'rest';
  readonly bounce: boolean;
  readonly extra?: number;
  /** True: the receiver's code does not throw. */
  readonly sure?: boolean;
}

interface Stage {
  readonly world: World;
  readonly states: AccountStates;
  readonly random: Random;
}

/** A message just received by an account that runs its code on it. */
interface Received {
  readonly account: number;
  readonly message: number;
}

const NOTIFY = 10_000_000;
const SWAP_FORWARD = 250_000_000;
/** Nanotons that the elector holds at least, once enough was emitted. */
const ELECTOR_HOLDS = 100_000_000_000_000;

/** What a contract answers; the way of every trace after its first transaction. */
export function reactionsTo(stage: Stage, received: Received): OutgoingMessage[] {
  const { world } = stage;
  const trace = world.messages.trace.get(received.message);
  const actor = world.traces.actor.get(trace);
  const excess: OutgoingMessage = { op: 'excess', to: actor, value: 'rest', bounce: false };
  return REACTIONS[world.messages.opOf(received.message)]?.(stage, received, trace, excess) ?? [];
}

type Reaction = (
  stage: Stage,
  received: Received,
  trace: number,
  excess: OutgoingMessage,
) => OutgoingMessage[];

const REACTIONS: Readonly<Partial<Record<Op, Reaction>>> = {
  system: emitted,
  jetton_transfer: jettonLeaves,
  jetton_internal_transfer: jettonArrives,
  bounced: jettonReturns,
  jetton_notify: exchangeResponses,
  jetton_burn: jettonBurns,
  jetton_burn_notification: (_stage, _received, _trace, excess) => [excess],
  jetton_mint: jettonMint,
  nft_mint: nftMint,
  nft_transfer: nftTransfer,
  call: called,
};

/** The elector passes what the protocol emitted on to the giver, and keeps a part: it holds the stakes. */
function emitted({ world, states }: Stage, { account, message }: Received): OutgoingMessage[] {
  if (account !== ELECTOR) return [];
  const extra = world.messages.extra.get(message);
  const keeps = states.balanceOf(account) < ELECTOR_HOLDS;
  const value = keeps ? Math.floor(world.messages.value.get(message) * 0.975) : 'rest';
  return [{ op: 'empty', to: world.accounts.giver, value, bounce: false, extra }];
}

function jettonBurns({ world, states }: Stage, { account }: Received, trace: number): OutgoingMessage[] {
  states.addTokens(account, -world.traces.amount.get(trace));
  return [{ op: 'jetton_burn_notification', to: masterOf(world, account), value: 'rest', bounce: true }];
}

function jettonMint({ world }: Stage, _received: Received, trace: number): OutgoingMessage[] {
  return [{ op: 'jetton_internal_transfer', to: mintTarget(world, trace), value: 'rest', bounce: true }];
}

function masterOf(world: World, jettonWallet: number): number {
  const owner = world.accounts.jettonWalletOwner(jettonWallet);
  return world.accounts.jettonMaster(owner, world.accounts.jettonSlot(jettonWallet));
}

/** The jetton wallet for which jettons are minted: the partner's. */
function mintTarget(world: World, trace: number): number {
  return world.accounts.jettonWallet(world.traces.partner.get(trace), world.traces.slot.get(trace));
}

function jettonLeaves({ world, states }: Stage, { account }: Received, trace: number): OutgoingMessage[] {
  const owner = world.accounts.jettonWalletOwner(account);
  const target = world.accounts.jettonWallet(
    otherParty(world, trace, owner),
    world.accounts.jettonSlot(account),
  );
  states.addTokens(account, -sentAmount(world, trace, owner));
  return [{ op: 'jetton_internal_transfer', to: target, value: 'rest', bounce: true }];
}

function jettonArrives(
  stage: Stage,
  { account }: Received,
  trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const { world, states, random } = stage;
  const owner = world.accounts.jettonWalletOwner(account);
  states.addTokens(account, sentAmount(world, trace, otherParty(world, trace, owner)));
  const swap = world.traces.purposeOf(trace) === 'jetton_swap' && owner === world.traces.partner.get(trace);
  if (swap) return [{ op: 'jetton_notify', to: owner, value: SWAP_FORWARD, bounce: false }, excess];
  if (random.chance(0.3)) return [excess];
  const value = random.chance(0.3) ? 1 : NOTIFY;
  return [{ op: 'jetton_notify', to: owner, value, bounce: random.chance(0.1) }, excess];
}

/** The receiving jetton wallet has refused what was sent: the sender's has it again. What a master minted is gone. */
function jettonReturns({ world, states }: Stage, { account, message }: Received, trace: number): [] {
  const owner = refusedBy(world, message);
  if (owner !== undefined) states.addTokens(account, sentAmount(world, trace, owner));
  return [];
}

/** The exchange pays the other jetton of the pair back. */
function exchangeResponses({ world }: Stage, { account }: Received, trace: number): OutgoingMessage[] {
  const swap = world.traces.purposeOf(trace) === 'jetton_swap' && account === world.traces.partner.get(trace);
  if (!swap) return [];
  return [
    { op: 'jetton_transfer', to: world.accounts.jettonWallet(account, 1), value: 'rest', bounce: true },
  ];
}

function nftMint({ world, states }: Stage, { account }: Received, trace: number): OutgoingMessage[] {
  const item = world.traces.partner.get(trace);
  if (account !== item) return [{ op: 'nft_mint', to: item, value: 'rest', bounce: true }];
  states.owner[item] = world.traces.actor.get(trace);
  return [];
}

function nftTransfer(
  { world, states }: Stage,
  { account }: Received,
  trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const newOwner = nftReceiver(world, trace);
  states.owner[account] = newOwner;
  return [{ op: 'nft_ownership_assigned', to: newOwner, value: NOTIFY, bounce: false }, excess];
}

/** The wallet to which an `nft_transfer` trace gives its item: kept in the trace's amount. */
export function nftReceiver(world: World, trace: number): number {
  return world.traces.amount.get(trace);
}

function called(
  { random }: Stage,
  _received: Received,
  _trace: number,
  excess: OutgoingMessage,
): OutgoingMessage[] {
  const log: OutgoingMessage = { op: 'log', to: OUTSIDE, value: 0, bounce: false };
  return random.chance(0.6) ? [log, excess] : [excess];
}
