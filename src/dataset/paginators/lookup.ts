/**
 * How many keys fit into one request, as far as requests have shown. Example: 1000 keys are refused, so 500 are tried.
 * They pass: between 500 and 1000, 750 are tried. They are refused: 625 are tried, and so on.
 *
 * | after | learned | next batch |
 * |---|---|---|
 * | nothing | `{ fits: 0, tooMany: null }` | 1000 keys |
 * | 1000 keys refused | `{ fits: 0, tooMany: 1000 }` | 500 keys |
 * | 500 keys passed | `{ fits: 500, tooMany: 1000 }` | 750 keys |
 * | 750 keys refused | `{ fits: 500, tooMany: 750 }` | 625 keys |
 */
export interface BatchSize {
  /** The largest batch that passed. */
  readonly fits: number;
  /** The smallest batch that was refused; null where none was yet. */
  readonly tooMany: number | null;
  /** Batches that passed since the last refusal: after many, a larger one is tried again. */
  readonly passed: number;
}

/** Cuts keys into requests: a value without state or I/O. */
export interface BatchPaginator {
  /** The request parameter that takes the keys; empty where the subject's fields are the parameters. */
  readonly param: string;
  /** The most keys that one request may have. */
  readonly most: number;
  /** True where the response is cut at a limit that has to be asked for as well. */
  readonly limited: boolean;
  /** The size to begin a walk with: what was learned, or the search anew. */
  start(learned: BatchSize | undefined): BatchSize;
  /** How many keys the next request takes. */
  size(learned: BatchSize): number;
  /** Learns that a batch of so many keys passed. */
  passed(learned: BatchSize, keys: number): BatchSize;
  /** Learns that a batch of so many keys was refused; undefined where it cannot be made smaller. */
  refused(learned: BatchSize, keys: number): BatchSize | undefined;
}

/** After so many batches that passed, a larger one is tried again: a gateway may have been changed. */
const UNTIL_LARGER = 1000;

export interface BatchOptions {
  readonly param: string;
  /** Default 1000: some endpoints drop what is beyond it, one refuses it. */
  readonly most?: number;
  readonly limited?: boolean;
}

/**
 * As many keys in a request as the URL takes. Nobody knows how long that is, so it is searched by halves between what
 * passed and what did not: with 1000 keys at most, ten requests find it, and what they learned is kept.
 */
export function batches({ param, most = 1000, limited = false }: BatchOptions): BatchPaginator {
  return {
    param,
    most,
    limited,
    start: (learned) =>
      learned === undefined || learned.passed >= UNTIL_LARGER
        ? { fits: 0, tooMany: null, passed: 0 }
        : learned,
    size({ fits, tooMany }) {
      if (tooMany === null) return most;
      return Math.max(1, Math.floor((Math.max(fits, 0) + tooMany) / 2));
    },
    passed: ({ fits, tooMany, passed }, keys) => ({
      fits: Math.max(fits, keys),
      tooMany: tooMany !== null && tooMany <= keys ? null : tooMany,
      passed: passed + 1,
    }),
    refused({ fits, tooMany }, keys) {
      if (keys <= 1) return undefined;
      return { fits: Math.min(fits, keys - 1), tooMany: Math.min(tooMany ?? keys, keys), passed: 0 };
    },
  };
}
