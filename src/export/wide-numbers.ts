/** Columns of whole numbers of up to 256 bits: identities and masks, which nobody adds up. No decimal of Parquet holds them. */
export const WIDE_NUMBERS: ReadonlySet<string> = new Set([
  'index',
  'next_item_index',
  'order_seqno',
  'next_order_seqno',
  'approvals_mask',
]);
