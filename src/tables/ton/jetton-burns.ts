import { index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, loadedAt, transferColumns } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const jetton_burns = ton.table(
  'jetton_burns',
  {
    ...transferColumns(),
    owner: address(),
    jetton_wallet: address(),
    jetton_master: address(),
    amount: amount(),
    response_destination: address(),
    custom_payload: text(),
    decoded_custom_payload: jsonb(),
    extra: jsonb(),
    loaded_at: loadedAt(),
  },
  (t) => [
    primaryKey({ columns: [t.utime, t.transaction_lt, t.transaction_hash] }),
    // The burns of one jetton, newest first, for its supply.
    index('jetton_burns_jetton_master').on(t.jetton_master, t.utime),
    // What one owner burned, for the owner's ledger.
    index('jetton_burns_owner').on(t.owner, t.utime),
  ],
);

describe(jetton_burns, {
  comment:
    "Jettons that their owners destroyed, one row for each transaction of an owner's jetton wallet that burned some, aborted ones included. Read from GET /api/v3/jetton/burns; a row never changes. There is no checksum for them: each second is read twice.",
  from: 'jetton_burns[].*',
  columns: {
    utime:
      "Block time, UTC, of the transaction in which the owner's jetton wallet burned the jettons. From jetton_burns[].transaction_now.",
    transaction_lt: "Logical time of the owner's jetton wallet's transaction; not unique across wallets.",
    transaction_hash: "Hash of the owner's jetton wallet's transaction, base64: identity of the burn.",
    transaction_aborted: 'True if the transaction of the burn failed, so that nothing was burned.',
    trace_id:
      'Trace that the burn is part of, base64; null if the server did not know it, filled when it comes.',
    query_id: 'Number that the owner chose to tell its burns apart, up to 64 bits.',
    owner: 'Owner of the burned jettons, raw form; empty if the source does not know it.',
    jetton_wallet: "The owner's jetton wallet, on which the transaction ran, raw form.",
    jetton_master: 'Contract of the burned jetton, raw form: which token it is.',
    amount: "How many jettons were burned, in the jetton's smallest units.",
    response_destination:
      'Account that gets what is left of the coins attached to the burn, raw form; null if there is none.',
    custom_payload:
      'Bag of cells, base64, that goes along with the burn, of use to special jettons; null for most burns.',
    decoded_custom_payload:
      "What the server's decoder made of the burn's payload; null if it knows no shape.",
  },
  conflict: { kind: 'fill', columns: ['trace_id', 'decoded_custom_payload', 'extra'] },
  partitioned: true,
});
