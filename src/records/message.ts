import { hash, optionalAddress, optionalHash } from './members/form.ts';
import { z } from 'zod';
import { orNull, type Extra } from '../dataset/record.ts';
import type { messages } from '../db/schema/ton/messages.ts';
import { formatTime } from '../range.ts';
import { digits, extraCurrencies, flag, freeForm, int64, opcode, seconds, text } from './members/scalar.ts';

/** A cell that a message carries: its body or its init state. `decoded` is whatever the server's decoder made of it. */
const messageContent = z.strictObject({ hash: optionalHash, body: text, decoded: freeForm });

/**
 * A message, as it stands in `in_msg` and `out_msgs` of a transaction and in `messages` of GET /api/v3/messages. An
 * external-in message has no source, value, created_lt and created_at; an external-out one has no destination.
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
  created_at: seconds,
  opcode,
  decoded_opcode: text,
  ihr_disabled: flag,
  bounce: flag,
  bounced: flag,
  import_fee: digits,
  in_msg_tx_hash: optionalHash,
  out_msg_tx_hash: optionalHash,
  message_content: messageContent.nullish(),
  init_state: messageContent.nullish(),
  hash_norm: optionalHash,
});

export type Message = z.output<typeof message>;

type MessageRow = typeof messages.$inferInsert;

/** What a message does not say itself, because it stands within a transaction or beside one. */
interface Carrier {
  /** Unix seconds of the transaction that carries the message: an external-in message has no time of its own. */
  readonly now: number;
  /** Hash of the transaction that sent the message, where it is known. */
  readonly sender: string | null | undefined;
  /** The message's members that its schema does not name. */
  readonly extra: Extra | null;
}

/** Unix seconds of a message's row: its own, or those of the transaction that received it. */
export function messageTime(message: Message, now: number): number {
  return message.created_at ?? now;
}

/** The row of a message. */
export function messageRow(message: Message, carrier: Carrier): MessageRow {
  return {
    utime: formatTime(messageTime(message, carrier.now)),
    hash: message.hash,
    source: message.source,
    destination: message.destination,
    value: message.value,
    value_extra_currencies: message.value_extra_currencies,
    fwd_fee: message.fwd_fee,
    ihr_fee: message.ihr_fee,
    extra_flags: message.extra_flags,
    created_lt: message.created_lt,
    opcode: message.opcode,
    decoded_opcode: message.decoded_opcode,
    ihr_disabled: message.ihr_disabled,
    bounce: message.bounce,
    bounced: message.bounced,
    import_fee: message.import_fee,
    ...contentColumns(message),
    ...initStateColumns(message),
    hash_norm: message.hash_norm,
    out_msg_tx_hash: carrier.sender,
    extra: orNull({ ...carrier.extra, ...leftover(message) }),
  };
}

function contentColumns({ message_content: content }: Message) {
  return {
    content_hash: content?.hash,
    content_body: content?.body,
    content_decoded: content?.decoded,
  } satisfies Partial<MessageRow>;
}

function initStateColumns({ init_state: state }: Message) {
  return {
    init_state_hash: state?.hash,
    init_state_body: state?.body,
    init_state_decoded: state?.decoded,
  } satisfies Partial<MessageRow>;
}

/**
 * `created_at` has no column: it is the row's `utime`, or null where `created_lt` is. A message that breaks this rule
 * keeps its own word.
 */
function leftover({ created_at, created_lt }: Message): Extra {
  const asRuled = (created_at == null) === (created_lt == null);
  return asRuled ? {} : { created_at: created_at == null ? null : String(created_at) };
}
