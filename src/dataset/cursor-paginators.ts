import type { Params } from './paginator.ts';

/* Positions and paginators of datasets that are no streams of time. A cursor is plain JSON: it is kept between runs. */

/** How far a list has been read. */
export interface OffsetCursor {
  /** Where to ask next. */
  readonly at: number;
  /** Behind the last record that came: what is appended from now on lies there or beyond. */
  readonly end: number;
  /** True while the whole list is read; false: only what was appended is asked for. */
  readonly round: boolean;
  /** Unix seconds at which the last whole round ended; null before one has. */
  readonly ended: number | null;
  /** The offset at which the server gave up though asked for little: what lies beyond is out of reach. Else null. */
  readonly beyond: number | null;
}

export interface OffsetStep {
  readonly cursor: OffsetCursor;
  /** True at the list's end: there is nothing to ask for until later. */
  readonly done: boolean;
}

/** Reads a list by offset: a value without state or I/O, cursor in, cursor out. */
export interface OffsetPaginator {
  /** The most records that one page may be asked for. */
  readonly maxSize: number;
  /**
   * Where a look at the list begins: an unfinished round goes on, a finished one is followed by a look at its end, or,
   * `rescan` seconds after it ended, by a new one. Undefined where the end is out of reach. `now`: unix seconds.
   */
  start(cursor: OffsetCursor | undefined, now: number, rescan: number): OffsetCursor | undefined;
  request(cursor: OffsetCursor, size: number): Params & { readonly limit: number; readonly offset: number };
  /** After a page of so many records where `limit` were asked for. */
  next(cursor: OffsetCursor, limit: number, records: number, now: number): OffsetStep;
  /** The server cannot go further, however little it is asked for: the round ends here. */
  giveUp(cursor: OffsetCursor, now: number): OffsetCursor;
}

/** What was learned of how much one request can ask for. */
export interface BatchSize {
  /** So many keys have passed. */
  readonly fits: number;
  /** So many were too many; null where nothing was yet. */
  readonly tooMany: number | null;
  /** Batches that passed since the size was found: after many, a larger one is tried again. */
  readonly passed: number;
}

/** Cuts keys into requests: a value without state or I/O. */
export interface BatchPaginator {
  /** The request parameter that takes the keys; empty where the subject's fields are the parameters. */
  readonly param: string;
  /** The most keys that one request may have. */
  readonly most: number;
  /** True where the answer is cut at a limit that has to be asked for as well. */
  readonly limited: boolean;
  /** Answers for so many keys may be wanted at once. */
  start(learned: BatchSize | undefined): BatchSize;
  size(learned: BatchSize): number;
  /** A batch of so many keys passed. */
  passed(learned: BatchSize, keys: number): BatchSize;
  /** A batch of so many keys was refused as too large; undefined where it cannot be made smaller. */
  refused(learned: BatchSize, keys: number): BatchSize | undefined;
}

/** One end of an account's history: a transaction. */
export interface Place {
  readonly lt: string;
  readonly hash: string;
}

/**
 * Which part of an account's history is stored, newest first. Stored is everything
 * from `newest` down to `oldest`; and, while the newer part is being read, from `top` down to `at`.
 */
export interface BackwardCursor {
  readonly newest: Place | null;
  readonly oldest: Place | null;
  /** True once the account's first transaction, or the first that the servers keep, is stored. */
  readonly complete: boolean;
  /** What came since `newest` is being read downwards: its newest transaction, and where it stands. */
  readonly top: Place | null;
  readonly at: Place | null;
}

export interface BackwardStep {
  readonly cursor: BackwardCursor;
  /** How many records at the page's beginning are repetitions of the one with which the last page ended. */
  readonly repeated: number;
  /** True where the newest transactions are stored and the beginning was reached: nothing is left to ask for. */
  readonly done: boolean;
}

/** Walks an account's history backwards: a value without state or I/O. */
export interface BackwardPaginator {
  readonly maxSize: number;
  start(cursor: BackwardCursor | undefined): BackwardCursor;
  request(cursor: BackwardCursor, phase: Phase, size: number): Params & { readonly limit: number };
  /** What is to be asked next: first what is new, then what is old; undefined where both are done. */
  phase(cursor: BackwardCursor, headDone: boolean): Phase | undefined;
  next(cursor: BackwardCursor, phase: Phase, places: readonly Place[], size: number): BackwardStep;
}

/** `head`: what is newer than all that is stored. `tail`: what is older. */
export type Phase = 'head' | 'tail';

/** Seqnos of masterchain blocks, half-open. */
export interface Seqnos {
  readonly from: number;
  readonly to: number;
}

/** The first masterchain block at or after a second of chain time, known of borders that were asked for once. */
export interface Border {
  readonly utime: number;
  readonly seqno: number;
}

/** Which masterchain blocks have been asked about. */
export interface SeqnoCursor {
  readonly covered: readonly Seqnos[];
  /** The borders that were looked up last. */
  readonly borders: readonly Border[];
}

/** One answer a masterchain block: a value without state or I/O. */
export interface SeqnoPaginator {
  start(cursor: SeqnoCursor | undefined): SeqnoCursor;
  /** The next block to ask about, the newest that is missing first; undefined where all of the range are there. */
  missing(cursor: SeqnoCursor, wanted: Seqnos): number | undefined;
  request(seqno: number): Params;
  next(cursor: SeqnoCursor, seqno: number): SeqnoCursor;
  /** Remembers where a second of chain time lies among the blocks. */
  withBorder(cursor: SeqnoCursor, border: Border): SeqnoCursor;
}
