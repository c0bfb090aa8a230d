/** The part of the network that is visible at one moment. */
export interface View {
  /** Chain time up to which the replica has data, unix seconds. */
  readonly headTime: number;
  /** The greatest masterchain seqno that is visible; undefined if nothing is. */
  readonly head: number | undefined;
  /** True if a masterchain block, and all that it registered, is visible. */
  seesMasterchain(seqno: number): boolean;
}
