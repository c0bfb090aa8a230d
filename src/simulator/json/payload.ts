import type { BocMaker } from '../network/chain/boc.ts';
import { poolAt } from '../network/chain/exchanges.ts';
import { NONE } from '../network/chain/tables/block-table.ts';
import { SLOTS, type Accounts } from '../network/chain/tables/accounts.ts';
import type { World } from '../network/chain/world.ts';
import { mix32 } from '../random.ts';
import { comment } from './comment.ts';

/** What a jetton or an item forwards with its notification, nanotons. */
export const FORWARDED = '10000000';

/** What an item forwards: more to the marketplace, which pays for its next steps. */
export function forwardAmount({ accounts, messages }: World, message: number): string {
  return messages.party.get(message) === accounts.marketplace ? '400000000' : FORWARDED;
}

/** What a message of jettons moves of a master's jettons, in least units. */
export function jettonAmount({ accounts, messages }: World, message: number, master: number): string {
  return jettonUnits(accounts, master, messages.amount.get(message));
}

/** An amount of a jetton in least units: those of 18 decimals are beyond every machine number. */
export function jettonUnits(accounts: Accounts, master: number, amount: number): string {
  const index = accounts.role(master) === 'jetton_master' ? accounts.indexInRole(master) : 0;
  const zeros = isOfManyDecimals(index) && amount !== 0 ? (index % SLOTS === 0 ? 21 : 12) : 0;
  return String(amount) + '0'.repeat(zeros);
}

/** True if a jetton has 18 decimals: one of such a pair costs next to nothing. */
export const isOfManyDecimals = (index: number): boolean => Math.floor(index / SLOTS) % 5 === 1;

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
  const pool = messages.party.get(message);
  const isOrder =
    traces.purposeOf(trace) === 'jetton_swap' &&
    messages.source.get(message) === actor &&
    poolAt(accounts, pool).dex === 'stonfi';
  if (!isOrder) return null;
  // A few apps bring most of the trades.
  const app = accounts.account('wallet', mix32(trace + 8) % Math.min(5, accounts.wallets));
  const hasReferral = mix32(trace + 9) % 3 !== 0;
  return {
    '@type': 'stonfi_swap_forward_payload',
    token_wallet: address(world, accounts.jettonWallet(pool, 1)),
    min_out: varUint('1'),
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
  if (account === NONE) return { '@type': 'addr_none' };
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
