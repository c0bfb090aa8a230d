import type { BatchPaginator } from '../cursor-paginators.ts';

/** Batches at the size found after which a larger one is tried again: a gateway may have been changed. */
const UNTIL_LARGER = 1000;

interface BatchOptions {
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

/** One subject a request, for endpoints that take no lists: its key goes into `param`, or its fields are the parameters. */
export function oneByOne({ param = '' }: { param?: string } = {}): BatchPaginator {
  return batches({ param, most: 1 });
}
