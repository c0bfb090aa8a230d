import { nameOf, offerKind } from '../network/chain/nft-market.ts';
import type { World } from '../network/chain/world.ts';
import { mix32 } from '../random.ts';

const COMMENTS = [
  'thanks for the coffee',
  'invoice',
  'Спасибо за заказ №',
  'payout 💎 #',
  'rent for the month',
  'deposit',
  'line one\nline "two" \\ three, order',
] as const;

/** The query id of a trace: a number of up to 63 bits, as text. */
export function queryId(trace: number): string {
  return String((BigInt(mix32(trace) >>> 1) << 32n) | BigInt(mix32(trace + 1)));
}

/** A message's comment. */
export function comment(message: number): string {
  const text = COMMENTS[mix32(message) % COMMENTS.length] ?? '';
  return `${text} ${mix32(message + 7) % 100_000}`;
}

/** What a message says in plain text; undefined if it says nothing, or in another form. */
export function textOf({ accounts, messages, traces }: World, message: number): string | undefined {
  const op = messages.opOf(message);
  if (op === 'text_comment') return comment(message);
  if (op === 'nft_first_bid') return nameOf(accounts, traces.partner.get(messages.trace.get(message)));
  const isAuction = (account: number): boolean => offerKind(accounts, account) === 'auction';
  if (op === 'nft_outbid')
    return isAuction(messages.source.get(message)) ? 'Your bid has been outbid by another user.' : undefined;
  if (op === 'nft_finish') return isAuction(messages.destination.get(message)) ? 'finish' : '#topup';
  return op === 'nft_cancel' && isAuction(messages.destination.get(message)) ? 'cancel' : undefined;
}
