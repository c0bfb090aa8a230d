import { z } from 'zod';
import { freeForm } from './free-form.ts';
import { digits, extraCurrencies, flag, int64, opcode, seconds, text } from './scalar.ts';

/** A cell that a message carries: its body or its init state. `decoded` is whatever the server's decoder made of it. */
export const messageContent = z.strictObject({ hash: text, body: text, decoded: freeForm });

/**
 * A message, as it stands in `in_msg` and `out_msgs` of a transaction and in `messages` of GET /api/v3/messages. An
 * external-in message has no source, value, created_lt and created_at; an external-out one has no destination.
 */
export const message = z.strictObject({
  hash: z.string(),
  source: text,
  destination: text,
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
  in_msg_tx_hash: text,
  out_msg_tx_hash: text,
  message_content: messageContent.nullish(),
  init_state: messageContent.nullish(),
  hash_norm: text,
});

export type Message = z.output<typeof message>;
