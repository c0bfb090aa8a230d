/** Rows of an endpoint that the server cannot serve: those with a value, or a share of all rows (0 to 1). */
export type UnservableRows = { readonly path: string } & (
  { readonly member: string; readonly value: string } | { readonly share: number }
);

/**
 * All faults that can be injected. The object is read at each request, so a test may change it while the simulator
 * runs. Probabilities are 0 to 1 per request, drawn from a seeded stream; an absent one means never.
 */
export interface Faults {
  /** A list request with a greater limit fails with a 500 that mentions a timeout. */
  timeoutAboveLimit?: number;
  /** A list request with a greater limit is answered as if it had asked for this many rows. */
  capLimit?: number;
  /** A greater limit is refused with this number, as if the server were configured with a smaller limit. */
  maxLimit?: number;
  /** Prefixes of paths that the server does not have. */
  absent?: readonly string[];
  /** Rows that the server cannot serve: every response with one of them fails as a whole. */
  unservable?: readonly UnservableRows[];
  /** How such a response fails; default 500: an error with that status, a timeout, or a 200 whose JSON is broken. */
  unservableAs?: '500' | '422' | 'timeout' | 'broken';
  /**
   * The number of rows of actions that are scanned a second; a query has three seconds. There is no index on the
   * second in which an action's trace ends: without lts a request scans all rows, with lts those within them.
   */
  scanSpeed?: number;
  /** 500 with the text of a statement timeout. */
  timeout?: number;
  /** Begins a storm: this many consecutive requests are refused with 429. */
  storm?: { readonly probability: number; readonly length: number };
  /** How the refusals of a storm say when to retry; absent: they do not. */
  stormSays?: 'seconds' | 'date';
  /** Refuses a correct request, with one of the statuses and bodies that servers and gateways use. */
  refusal?: number;
  /** 502 with a page of HTML, as a gateway sends it. */
  badGateway?: number;
  /** The connection is closed before the response. */
  reset?: number;
  /** The connection is closed in the middle of the body. */
  resetInBody?: number;
  /** 200 with the first part of the JSON as a whole body. */
  truncatedJson?: number;
  /** The body comes in pieces over `slowBodyMs`. */
  slowBody?: number;
  /** Default 1000. */
  slowBodyMs?: number;
  /** The body stops in its middle, and the connection stays open. */
  silentBody?: number;
  /** The connection stays open, and no response is sent. */
  silentHead?: number;
  /** The body comes one byte a second. */
  dribble?: number;
  /** Endless headers, as fast as they are read. */
  endlessHead?: number;
  /** An endless body, as fast as it is read. */
  endlessBody?: number;
  /**
   * 200 with only the first rows, on the three endpoints of blocks: the real server does that if its query is
   * interrupted.
   */
  shortBlocks?: number;
  /** A replica answers whose head is `staleSeconds` behind (default 20). */
  stale?: number;
  staleSeconds?: number;
  /**
   * Some masterchain blocks, and everything that they registered, become visible late, by this many `seconds` of
   * chain time.
   */
  lateBlocks?: { readonly probability: number; readonly seconds: number };
  /**
   * This share of shard blocks (0 to 1) is reorganised: for `seconds` of chain time after they were registered, they
   * and their transactions have other hashes, in every response.
   */
  reorganise?: { readonly probability: number; seconds: number };
  /** Masterchain blocks that are hidden while they are listed here; bounds are seqnos, inclusive. */
  holes?: readonly { readonly from: number; readonly to: number }[];
  /**
   * Blocks of shards that are hidden, with their contents, while they are listed here: those made between two
   * seconds, both inclusive, of one shard or of all.
   */
  lostBlocks?: readonly { readonly shard?: string; readonly from: number; readonly to: number }[];
  /** After each split, the right child's blocks of the first seconds become visible only when those are over. */
  lateSplit?: { readonly seconds: number };
  /**
   * The actions of a trace appear between `least` (default 0) and `most` seconds of chain time after its last
   * transaction; each trace has its own delay.
   */
  lateActions?: { readonly least?: number; readonly most: number };
  /**
   * The share of traces (0 to 1) that are classified twice. For `seconds` of chain time after their first actions
   * appeared they show other actions (other ids, other types, fewer, or none), then the final ones. Some have no final
   * ones: their actions vanish.
   */
  reclassify?: { readonly probability: number; readonly seconds: number };
  /** A copy whose head is this many seconds behind answers for validators and pools. */
  staleEvents?: number;
  /** The limiter refuses at 60 % of the rate that it claims. */
  lieAboutLimit?: boolean;
}
