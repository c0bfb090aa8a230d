/** What an index lists besides transactions: each row is a transaction that means something to it. */
export const FAMILIES = [
  'jetton_transfers',
  'jetton_burns',
  'nft_transfers',
  'validator_events',
  'pool_events',
] as const;

export type Family = (typeof FAMILIES)[number];
