import { index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, commentIn, loadedAt, transferColumns } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const nft_transfers = ton.table(
  'nft_transfers',
  {
    ...transferColumns(),
    nft_address: address(),
    nft_collection: address(),
    old_owner: address(),
    new_owner: address(),
    response_destination: address(),
    forward_amount: amount(),
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
    // The history of one item, and what one owner got, newest first.
    index('nft_transfers_nft_address').on(t.nft_address, t.utime),
    index('nft_transfers_new_owner').on(t.new_owner, t.utime),
  ],
);

describe(nft_transfers, {
  comment:
    'Changes of owner of NFT items, one row for each transaction of an item that was asked to change hands, aborted ones included. Read from GET /api/v3/nft/transfers; a row never changes. There is no checksum for them: each second is read twice.',
  from: 'nft_transfers[].*',
  columns: {
    utime:
      'Block time, UTC, of the transaction in which the item changed hands. From nft_transfers[].transaction_now.',
    transaction_lt: "Logical time of the item's transaction; not unique across items.",
    transaction_hash: "Hash of the item's transaction, base64: identity of the change of owner.",
    transaction_aborted: 'True if the transaction of the item failed, so that it kept its owner.',
    trace_id:
      'Trace that the change of owner is part of, base64; null if the server did not know it, filled when it comes.',
    query_id: 'Number that the old owner chose to tell its requests apart, up to 64 bits.',
    nft_address: 'The item, on which the transaction ran, raw form.',
    nft_collection: 'Collection that the item belongs to, raw form; empty for an item without one.',
    old_owner: 'Owner that gave the item away, raw form; empty if the source does not know it.',
    new_owner: 'Owner that got the item, raw form; empty if the source does not know it.',
    response_destination:
      'Account that gets what is left of the coins attached to the request, raw form; null if there is none.',
    forward_amount:
      'Coins that go to the new owner with the notice of the item, nanotons; null if there are none.',
    custom_payload: 'Bag of cells, base64, for the item itself, of use to special items; null for most.',
    decoded_custom_payload:
      "What the server's decoder made of the payload for the item; null if it knows no shape.",
    forward_payload:
      'Bag of cells, base64, that goes to the new owner: a comment, or the order for a marketplace; null if there is none.',
    decoded_forward_payload:
      "What the server's decoder made of the payload for the new owner; null if it knows no shape.",
    comment:
      'Text comment that goes with the item. Null if there is none, or an encrypted or binary one; null, too, if the server did not decode the forward payload. From nft_transfers[].decoded_forward_payload.comment.',
  },
  conflict: {
    kind: 'fill',
    columns: ['trace_id', 'decoded_custom_payload', 'decoded_forward_payload', 'extra'],
  },
  partitioned: true,
});
