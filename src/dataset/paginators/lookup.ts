import * as z from 'zod';

/**
 * How many keys fit into one request, learned from requests. Example: if 1000 keys are refused, 500 are
 * tried. If these pass, 750 are tried. If these are refused, 625 are tried, and so on.
 *
 * | after | learned | next batch |
 * |---|---|---|
 * | nothing | `{ fits: 0, tooMany: null }` | 1000 keys |
 * | 1000 keys refused | `{ fits: 0, tooMany: 1000 }` | 500 keys |
 * | 500 keys passed | `{ fits: 500, tooMany: 1000 }` | 750 keys |
 * | 750 keys refused | `{ fits: 500, tooMany: 750 }` | 625 keys |
 */
export const BatchSize = z.object({
  /** The largest batch that passed. */
  fits: z.number(),
  /** The smallest batch that was refused; null if none was. */
  tooMany: z.number().nullable(),
  /** Batches that passed since the last refusal: after many, a larger one is tried again. */
  passed: z.number(),
});

export type BatchSize = z.infer<typeof BatchSize>;

export type BatchPaginator = ReturnType<typeof batches>;

/** After this many batches a larger one is tried again: a gateway may have been changed. */
const UNTIL_LARGER = 1000;

export interface BatchOptions {
  /** The request parameter for the keys; empty if the subject's fields are the parameters. */
  readonly param: string;
  /** Maximum number of keys in one request. Default 1000: some endpoints drop keys beyond it, one refuses them. */
  readonly most?: number;
  /** True if the response is cut at a limit that has to be sent as well. */
  readonly limited?: boolean;
}

/**
 * Splits keys into requests: a value without state or I/O. Puts as many keys into a request as the URL allows. That length is not documented, so it is found by
 * bisection between batches that passed and batches that did not. With 1000 keys at most, this takes ten
 * requests, and the result is kept.
 */
export function batches({ param, most = 1000, limited = false }: BatchOptions) {
  return {
    param,
    most,
    limited,
    /** The size to start a walk with: the learned one, or a new search. */
    start: (learned: BatchSize | undefined): BatchSize =>
      learned === undefined || learned.passed >= UNTIL_LARGER
        ? { fits: 0, tooMany: null, passed: 0 }
        : learned,
    /** The number of keys for the next request. */
    size({ fits, tooMany }: BatchSize): number {
      if (tooMany === null) return most;
      return Math.max(1, Math.floor((Math.max(fits, 0) + tooMany) / 2));
    },
    /** Learns that a batch of this many keys passed. */
    passed: ({ fits, tooMany, passed }: BatchSize, keys: number): BatchSize => ({
      fits: Math.max(fits, keys),
      tooMany: tooMany !== null && tooMany <= keys ? null : tooMany,
      passed: passed + 1,
    }),
    /** Learns that a batch of this many keys was refused; undefined if it cannot be made smaller. */
    refused({ fits, tooMany }: BatchSize, keys: number): BatchSize | undefined {
      if (keys <= 1) return undefined;
      return { fits: Math.min(fits, keys - 1), tooMany: Math.min(tooMany ?? keys, keys), passed: 0 };
    },
  };
}
