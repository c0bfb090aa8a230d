import { index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, commentIn, loadedAt, transferColumns } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const jetton_transfers = ton.table(
  'jetton_transfers',
  {
    ...transferColumns(),
    source: address(),
    destination: address(),
    amount: amount(),
    source_wallet: address(),
    jetton_master: address(),
    response_destination: address(),
    forward_ton_amount: amount(),
    custom_payload: text(),
    decoded_custom_payload: jsonb(),
    forward_payload: text(),
    decoded_forward_payload: jsonb(),
    comment: commentIn('decoded_forward_payload'),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.transaction_lt, t.transaction_hash] }),
    // The transfers of one jetton, and those from and to one owner, newest first.
    index('jetton_transfers_jetton_master').on(t.jetton_master, t.utime),
    index('jetton_transfers_source').on(t.source, t.utime),
    index('jetton_transfers_destination').on(t.destination, t.utime),
  ],
);

describe(jetton_transfers, {
  comment:
    "Transfers of jettons (fungible tokens), one row for each transaction of a sender's jetton wallet that sent some. Read from GET /api/v3/jetton/transfers, which leaves out those of aborted transactions; a row never changes. There is no checksum for them: each second is read twice.",
  from: 'jetton_transfers[].*',
  columns: {
    utime:
      "Block time, UTC, of the transaction in which the sender's jetton wallet sent the jettons. From jetton_transfers[].transaction_now.",
    transaction_lt: "Logical time of the sender's jetton wallet's transaction; not unique across wallets.",
    transaction_hash: "Hash of the sender's jetton wallet's transaction, base64: identity of the transfer.",
    transaction_aborted:
      'True if the transaction of the transfer failed; the source gives only those that did not; null if an older server leaves it out.',
    trace_id:
      'Trace that the transfer is part of, base64; null if the server did not know it, filled when it comes.',
    query_id: 'Number that the sender chose to tell its transfers apart, up to 64 bits.',
    source: 'Owner that sent the jettons, raw form; empty if the source does not know it.',
    destination: 'Owner that is to get the jettons, raw form; empty if the source does not know it.',
    amount: "How many jettons, in the jetton's smallest units (its metadata says how many decimals).",
    source_wallet: "The sender's jetton wallet, on which the transaction ran, raw form.",
    jetton_master: 'Contract of the jetton itself, raw form: which token it is.',
    response_destination:
      'Account that gets what is left of the attached coins, raw form; null if there is none.',
    forward_ton_amount:
      'Coins that go to the destination with the notice of the jettons, nanotons; null if there are none.',
    custom_payload:
      "Bag of cells, base64, for the sender's jetton wallet, of use to special jettons; null for most transfers.",
    decoded_custom_payload:
      "What the server's decoder made of the custom payload; null if it knows no shape.",
    forward_payload:
      'Bag of cells, base64, that goes to the destination: a comment, or the order for an exchange; null if there is none.',
    decoded_forward_payload:
      "What the server's decoder made of the forward payload, such as a comment's text; null if it knows no shape.",
    comment:
      'Text comment that goes with the jettons. Null if there is none, or an encrypted or binary one; null, too, if the server did not decode the forward payload. From jetton_transfers[].decoded_forward_payload.comment.',
  },
  conflict: {
    kind: 'fill',
    columns: ['trace_id', 'decoded_custom_payload', 'decoded_forward_payload', 'extra'],
  },
  partitioned: true,
});
