import type { BocMaker } from '../network/chain/boc.ts';
import { sentAmount } from '../network/chain/jetton-parties.ts';
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
}

const NOTHING: Payload = { body: null, decoded: null };

/** The payload that is forwarded to the receiver: a comment, unknown data, or none. */
export function forwardPayload(bocs: BocMaker, message: number): Payload {
  const dice = mix32(message + 5) % 10;
  if (dice < 3) {
    const text = comment(message);
    const decoded = { '@type': 'text_comment', comment: text, type: 'text_comment' };
    return { body: bocs.make(message, 12 + text.length, 0), decoded };
  }
  return dice < 5 ? { body: bocs.make(message, 90, mix32(message + 6)), decoded: null } : NOTHING;
}

/** The payload for the token's own contract, seldom there. */
export function customPayload(bocs: BocMaker, message: number): Payload {
  return mix32(message + 9) % 9 === 0 ? { body: bocs.make(message + 1, 70), decoded: null } : NOTHING;
}
