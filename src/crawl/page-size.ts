/** The fewest rows that a page is asked for: below this the server's trouble is another one. */
const SMALLEST = 10;
const PAGES_BEFORE_GROWTH = 8;

/** How many rows to ask for at once: halved when the server runs out of time, doubled again when it does not. */
export interface PageSize {
  current(): number;
  /** The server gave up on a page of this size; false where it cannot be made smaller. */
  timedOut(size: number): boolean;
  arrived(): void;
}

interface PageSizeOptions {
  /** So many pages in a row must come before a larger one is tried. */
  readonly pagesBeforeGrowth?: number;
}

export function createPageSize(
  largest: number,
  { pagesBeforeGrowth = PAGES_BEFORE_GROWTH }: PageSizeOptions = {},
): PageSize {
  let size = largest;
  let streak = 0;
  return {
    current: () => size,
    timedOut(asked) {
      streak = 0;
      // Others may have asked for the larger page at the same time: it is halved once.
      if (asked <= size) size = Math.max(SMALLEST, Math.floor(asked / 2));
      return asked > SMALLEST;
    },
    arrived() {
      streak += 1;
      if (streak < pagesBeforeGrowth || size === largest) return;
      streak = 0;
      size = Math.min(largest, size * 2);
    },
  };
}
