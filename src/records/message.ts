import { hash, optionalAddress, optionalHash } from './members/form.ts';
import * as z from 'zod';
import { elsewhere, spread } from '../dataset/declaration/column-mapping.ts';
import { rowLayoutOf, type Put } from '../dataset/declaration/row-layout.ts';
import type { Extra } from '../dataset/declaration/record.ts';
import { messages } from '../tables/ton/messages.ts';
import {
  digits,
  extraCurrencies,
  flag,
  freeForm,
  int64,
  opcode,
  seconds,
  text,
  type Seconds,
  timeOf,
} from './members/scalar.ts';

/** A cell that a message carries: its body or its init state. `decoded` is the result of the server's decoder. */
const messageContent = z.strictObject({ hash: optionalHash, body: text, decoded: freeForm });

/**
 * A message, as in `in_msg` and `out_msgs` of a transaction and in `messages` of GET /api/v3/messages. An external-in
 * message has no source, value, created_lt and created_at; an external-out one has no destination.
 */
export const message = z.strictObject({
  hash,
  source: optionalAddress,
  destination: optionalAddress,
  value: digits,
  value_extra_currencies: extraCurrencies,
  fwd_fee: digits,
  ihr_fee: digits,
  extra_flags: text,
  created_lt: int64,
  created_at: elsewhere(seconds),
  opcode,
  decoded_opcode: text,
  ihr_disabled: flag,
  bounce: flag,
  bounced: flag,
  import_fee: digits,
  in_msg_tx_hash: elsewhere(optionalHash),
  out_msg_tx_hash: elsewhere(optionalHash),
  message_content: spread('content_', messageContent.nullish()),
  init_state: spread('init_state_', messageContent.nullish()),
  hash_norm: optionalHash,
});

export type Message = z.output<typeof message>;

/** Facts about a message that it does not have itself, because it is part of a transaction. */
interface Carrier {
  /** Unix seconds of the transaction that carries the message: an external-in message has no time of its own. */
  readonly now: Seconds;
  /** Hash of the transaction that sent the message, if it is known. */
  readonly sender: string | null | undefined;
  /** The message's members that its schema does not name. */
  readonly extra: Extra | null;
}

/** Unix seconds of a message's row: its own, or those of the transaction that received it. */
export function messageTime(message: Message, now: Seconds): Seconds {
  return message.created_at ?? now;
}

const rowLayout = rowLayoutOf(messages, message);

export function messageRow(message: Message, { now, sender, extra }: Carrier, put: Put): void {
  const given = { utime: timeOf(messageTime(message, now)), out_msg_tx_hash: sender };
  put(rowLayout, message, given, withLeftover(message, extra));
}

/** `created_at` equals the row's `utime`, or is null if `created_lt` is. A value that does not goes to `extra`. */
function withLeftover({ created_at, created_lt }: Message, extra: Extra | null): Extra | null {
  if ((created_at == null) === (created_lt == null)) return extra;
  return { ...extra, created_at: created_at == null ? null : String(created_at) };
}
