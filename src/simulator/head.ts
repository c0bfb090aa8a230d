import type { Ledger } from './ledger.ts';
import type { View } from './network-view.ts';

/** How the head of a generated network moves. */
export interface HeadOptions {
  /** A fixed head, unix seconds; default: the network's end. A simulator's `headTime` can be set. */
  readonly headTime?: number;
  /** A head that moves with the wall clock. */
  readonly live?: {
    /** Chain time at the simulator's start, unix seconds; default the wall clock's. */
    readonly head?: number;
    /** Chain seconds a wall second; default 1. */
    readonly speed?: number;
  };
}

/** What is visible now. */
export interface Head {
  /** The view of a replica whose data are `staleSeconds` behind. */
  view(staleSeconds: number): View;
  /** Chain time of the head, unix seconds. */
  headTime: number;
}

/** Data to serve, and what of them is visible now. */
export interface ServedNetwork extends Head {
  readonly ledger: Ledger;
}
