/** The families of rows that an index lists besides transactions. Each row belongs to one transaction. */
export const FAMILIES = [
  'jetton_transfers',
  'jetton_burns',
  'nft_transfers',
  'validator_events',
  'pool_events',
] as const;

export type Family = (typeof FAMILIES)[number];
