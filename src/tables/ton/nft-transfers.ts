import { index, jsonb, primaryKey, text } from 'drizzle-orm/pg-core';
import { address, amount, commentIn, loadedAt, transferColumns } from '../columns.ts';
import { describe, membersWithoutColumn } from '../describe.ts';
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
  columns: {
    utime:
      'Block time, UTC, of the transaction in which the item changed hands. From nft_transfers[].transaction_now.',
    transaction_lt:
      "Logical time of the item's transaction; not unique across items. From nft_transfers[].transaction_lt.",
    transaction_hash:
      "Hash of the item's transaction, base64: identity of the change of owner. From nft_transfers[].transaction_hash.",
    transaction_aborted:
      'True if the transaction of the item failed, so that it kept its owner. From nft_transfers[].transaction_aborted; null only if not sent.',
    trace_id:
      'Trace that the change of owner is part of, base64. From nft_transfers[].trace_id; null if the server did not know it, filled when it comes.',
    query_id:
      'Number that the old owner chose to tell its requests apart, up to 64 bits. From nft_transfers[].query_id; null only if not sent.',
    nft_address:
      'The item, on which the transaction ran, raw form. From nft_transfers[].nft_address; null only if not sent.',
    nft_collection:
      'Collection that the item belongs to, raw form; empty for an item without one. From nft_transfers[].nft_collection; null only if not sent.',
    old_owner:
      'Owner that gave the item away, raw form; empty if the source does not know it. From nft_transfers[].old_owner; null only if not sent.',
    new_owner:
      'Owner that got the item, raw form; empty if the source does not know it. From nft_transfers[].new_owner; null only if not sent.',
    response_destination:
      'Account that gets what is left of the coins attached to the request, raw form; null if there is none. From nft_transfers[].response_destination.',
    forward_amount:
      'Coins that go to the new owner with the notice of the item, nanotons. From nft_transfers[].forward_amount; null if there are none.',
    custom_payload:
      'Bag of cells, base64, for the item itself, of use to special items. From nft_transfers[].custom_payload; null for most.',
    decoded_custom_payload:
      "What the server's decoder made of the payload for the item; null if it knows no shape. From nft_transfers[].decoded_custom_payload.",
    forward_payload:
      'Bag of cells, base64, that goes to the new owner: a comment, or the order for a marketplace. From nft_transfers[].forward_payload; null if there is none.',
    decoded_forward_payload:
      "What the server's decoder made of the payload for the new owner; null if it knows no shape. From nft_transfers[].decoded_forward_payload.",
    comment:
      'Text comment that goes with the item. Null if there is none, or an encrypted or binary one; null, too, if the server did not decode the forward payload. From nft_transfers[].decoded_forward_payload.comment.',
    extra: membersWithoutColumn('nft_transfers[]'),
  },
  conflict: {
    kind: 'fill',
    columns: ['trace_id', 'decoded_custom_payload', 'decoded_forward_payload', 'extra'],
  },
  partitioned: true,
});
