/** The smallest page that is requested. If the server fails below this, size is not the cause. */
const SMALLEST = 10;
const PAGES_BEFORE_GROWTH = 8;

/** How many rows to request at once: halved if the server times out, doubled again if it does not. */
export interface PageSize {
  current(): number;
  /** Notes a timeout of a page of this size; false if it cannot be made smaller. */
  timedOut(size: number): boolean;
  arrived(): void;
}

interface PageSizeOptions {
  /** The number of pages in a row before a larger one is tried. */
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
      // Concurrent requests may have asked for the larger page at the same time: it is halved once.
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
