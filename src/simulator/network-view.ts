/** What is visible at one moment. */
export interface View {
  /** Chain time up to which the replica has data, unix seconds. */
  readonly headTime: number;
  /** The greatest masterchain seqno that is visible; undefined where nothing is. */
  readonly head: number | undefined;
  /** True where a masterchain block, and all that it registered, is visible. */
  seesMasterchain(seqno: number): boolean;
}
