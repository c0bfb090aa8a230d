import type { BocMaker } from '../network/chain/boc.ts';
import { dexOf, otherParty, sentAmount } from '../network/chain/jetton-parties.ts';
import type { World } from '../network/chain/world.ts';
import { mix32 } from '../random.ts';
import { comment } from './comment.ts';

/** What a jetton or an item forwards with its notification, nanotons. */
export const FORWARDED = '10000000';

/** Jettons of some groups of wallets have 18 decimals: their amounts are beyond every machine number. */
const MANY_DECIMALS = '000000000000';

/** What a party of a trace (default: who began it) sends of its jettons, in their least units. */
export function jettonAmount(world: World, trace: number, sender = world.traces.actor.get(trace)): string {
  return jettonUnits(world, world.traces.actor.get(trace), sentAmount(world, trace, sender));
}

/** An amount of a jetton of a wallet's group, as it is counted inside, in least units. */
export function jettonUnits({ accounts }: World, wallet: number, amount: number): string {
  return String(amount) + (amount !== 0 && isOfManyDecimals(accounts.groupOf(wallet)) ? MANY_DECIMALS : '');
}

/** True if the jettons of a trace have 18 decimals. */
export function hasManyDecimals({ traces, accounts }: World, trace: number): boolean {
  return isOfManyDecimals(accounts.groupOf(traces.actor.get(trace)));
}

/** True if the jettons of a group of wallets have 18 decimals. */
export const isOfManyDecimals = (group: number): boolean => group % 5 === 1;

/** The account to which a token message sends the rest of its value: the trace's starter, or none. */
export function responseDestination(world: World, message: number): number | undefined {
  return mix32(message + 11) % 12 === 0
    ? undefined
    : world.traces.actor.get(world.messages.trace.get(message));
}

/** A cell that a message carries, with what the server's decoder makes of it. */
export interface Payload {
  readonly body: string | null;
  readonly decoded: object | null;
  /** The text, if it is a comment. */
  readonly text: string | null;
}

const NOTHING: Payload = { body: null, decoded: null, text: null };

/** The payload that is forwarded to the receiver: a comment, an order to swap, unknown data, or none. */
export function forwardPayload(world: World, bocs: BocMaker, message: number): Payload {
  const dice = mix32(message + 5) % 10;
  if (dice < 3) {
    const text = comment(message);
    const decoded = { '@type': 'text_comment', comment: text, type: 'text_comment' };
    return { body: bocs.make(message, 12 + text.length, 0), decoded, text };
  }
  const order = swapOrder(world, message);
  if (order !== null) return { body: bocs.make(message, 90, SWAP_ORDER), decoded: order, text: null };
  return dice < 5 ? { body: bocs.make(message, 90, mix32(message + 6)), decoded: null, text: null } : NOTHING;
}

const SWAP_ORDER = 0x25938561;

/** The order that a trader sends to STON.fi v1 with the jettons, and who gets a share of the fee; null for all else. */
function swapOrder(world: World, message: number): object | null {
  const { messages, traces, accounts } = world;
  const trace = messages.trace.get(message);
  const actor = traces.actor.get(trace);
  const isOrder =
    traces.purposeOf(trace) === 'jetton_swap' &&
    messages.source.get(message) === actor &&
    dexOf(trace) === 'stonfi';
  if (!isOrder) return null;
  const exchange = otherParty(world, trace, actor);
  // A few apps bring most of the trades.
  const app = accounts.account('wallet', mix32(trace + 8) % Math.min(5, accounts.wallets));
  const hasReferral = mix32(trace + 9) % 3 !== 0;
  return {
    '@type': 'stonfi_swap_forward_payload',
    token_wallet: address(world, accounts.jettonWallet(exchange, 1)),
    min_out: varUint(String(sentAmount(world, trace, exchange))),
    to_address: address(world, actor),
    referral_address: hasReferral
      ? { '@type': 'just', value: address(world, app) }
      : { '@type': 'nothing_from_maybe' },
    type: 'stonfi_swap',
  };
}

/** A number as the server's decoder prints it. */
export function varUint(value: string): object {
  const bytes = Math.ceil(BigInt(value).toString(16).length / 2);
  return { '@type': 'var_uint', len: String(bytes), value };
}

/** An address as the server's decoder prints it. */
export function address(world: World, account: number): object {
  const raw = world.accounts.address(account);
  return {
    '@type': 'addr_std',
    anycast: { '@type': 'nothing_from_maybe' },
    workchain_id: raw.slice(0, raw.indexOf(':')),
    address: raw.slice(raw.indexOf(':') + 1),
  };
}

/** The payload for the token's own contract, seldom there. */
export function customPayload(bocs: BocMaker, message: number): Payload {
  return mix32(message + 9) % 9 === 0
    ? { body: bocs.make(message + 1, 70), decoded: null, text: null }
    : NOTHING;
}
