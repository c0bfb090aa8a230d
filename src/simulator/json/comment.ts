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
