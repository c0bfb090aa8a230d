/** Rows of an endpoint that the server cannot put into a response: those with a value, or so many of all (0 to 1). */
export type UnservableRows = { readonly path: string } & (
  { readonly member: string; readonly value: string } | { readonly share: number }
);

/**
 * Everything that can go wrong on request. The object is read at each request, so a test may change it while the
 * simulator runs. Probabilities are 0 to 1 per request, drawn from a seeded stream; absent means never.
 */
export interface Faults {
  /** A list request with a greater limit is a 500 that speaks of a timeout. */
  timeoutAboveLimit?: number;
  /** A list request with a greater limit is answered as if it had asked for this many rows. */
  capLimit?: number;
  /** A greater limit is refused, with this number: the server was started with a smaller one than usual. */
  maxLimit?: number;
  /** Beginnings of paths that the server does not have. */
  absent?: readonly string[];
  /** Rows that the server cannot serve: every response with one of them fails, whatever else was asked for with it. */
  unservable?: readonly UnservableRows[];
  /** How such a response fails; default 500: an error with that status, a timeout, or a 200 whose JSON is broken. */
  unservableAs?: '500' | '422' | 'timeout' | 'broken';
  /**
   * So many rows of actions a second are looked through, and a query has three seconds. There is no index on the second
   * in which an action's trace ends: without lts a request looks through all of them, with lts through those.
   */
  scanSpeed?: number;
  /** 500 with the text of a statement timeout. */
  timeout?: number;
  /** Begins a storm: this many requests in a row are refused with 429. */
  storm?: { readonly probability: number; readonly length: number };
  /** How the refusals of a storm say when to come again; absent: they do not. */
  stormSays?: 'seconds' | 'date';
  /** Refused for no reason of the request, with one of the statuses and bodies that servers and gateways have for that. */
  refusal?: number;
  /** 502 with a page of HTML, as a gateway sends it. */
  badGateway?: number;
  /** The connection is cut before a response. */
  reset?: number;
  /** The connection is cut in the middle of the body. */
  resetInBody?: number;
  /** 200 with the first part of the JSON as a whole body. */
  truncatedJson?: number;
  /** The body comes in pieces over `slowBodyMs`. */
  slowBody?: number;
  /** Default 1000. */
  slowBodyMs?: number;
  /** The body breaks off in its middle, and the connection stays open. */
  silentBody?: number;
  /** The connection stays open, and nothing comes. */
  silentHead?: number;
  /** The body comes one byte a second. */
  dribble?: number;
  /** Headers without an end, as fast as they are taken. */
  endlessHead?: number;
  /** A body without an end, as fast as it is taken. */
  endlessBody?: number;
  /** 200 with only the first rows: on the three endpoints of blocks, as the real server does when its query breaks off. */
  shortBlocks?: number;
  /** The request is answered by a replica whose head lies `staleSeconds` back (default 20). */
  stale?: number;
  staleSeconds?: number;
  /** Some masterchain blocks, and all that they registered, become visible so many seconds of chain time late. */
  lateBlocks?: { readonly probability: number; readonly seconds: number };
  /**
   * So many shard blocks (0 to 1) are reorganised: until so many seconds of chain time after they were registered they
   * and their transactions have other hashes, wherever these stand.
   */
  reorganise?: { readonly probability: number; seconds: number };
  /** Masterchain blocks that stay invisible while they stand here; bounds are seqnos, inclusive. */
  holes?: readonly { readonly from: number; readonly to: number }[];
  /**
   * Blocks of shards, and all that is in them, that stay invisible while they stand here: those made between two seconds,
   * both included, of one shard or of all.
   */
  lostBlocks?: readonly { readonly shard?: string; readonly from: number; readonly to: number }[];
  /** After each split, the right child's blocks of the first seconds become visible only when those are over. */
  lateSplit?: { readonly seconds: number };
  /**
   * The actions of a trace appear so many seconds of chain time after its last transaction, each trace after its own
   * time between `least` (default 0) and `most`.
   */
  lateActions?: { readonly least?: number; readonly most: number };
  /**
   * So many traces (0 to 1) are classified twice: until `seconds` of chain time after their first actions appeared they
   * show others (other ids, other types, fewer, or none), then the settled ones. For some nothing is settled: their
   * actions vanish.
   */
  reclassify?: { readonly probability: number; readonly seconds: number };
  /** The endpoints of validators and pools are answered by a copy whose head lies so many seconds back. */
  staleEvents?: number;
  /** The limiter refuses at 60 % of the rate that it claims. */
  lieAboutLimit?: boolean;
}
