/** Short pages of fewer rows are believed at once: no server caps so low, and quiet windows often hold as many. */
const FEWEST = 10;

/**
 * Whether a short page may be the end of its window. A server that caps `limit` without a word cuts every page at the
 * same length. So a page is doubted where it is longer than every page before it, or of a length that people choose for
 * a limit. A doubted page counts as full: the paginator asks once more from its end. New rows there prove the cap, and
 * from then on no more is asked for. No new rows prove that pages of this length come whole.
 *
 * Each length is doubted at most once a run. On dense history nearly every page is full, so that the rule costs a few
 * requests a run.
 */
export interface LimitTrust {
  /** What to ask for where `wanted` rows are wanted: no more than the server is known to give. */
  limit(wanted: number): number;
  /** Begins to judge the pages of one span, in the order in which they come. */
  openSpan(): SpanTrust;
}

/** Judges the pages of one span. */
export interface SpanTrust {
  /** `asked`: the limit that was sent; `ids`: of the rows that came. Nothing is remembered until it is accepted. */
  judge(asked: number, ids: readonly string[]): Verdict;
  /** The span was read to its end. */
  ended(): void;
}

interface Verdict {
  /** The size by which a page is full or short: what was asked, or the page's own length where it may have been cut. */
  readonly size: number;
  /** The page is an answer to its request: what it shows counts from now on. */
  readonly accept: () => void;
}

interface Known {
  /** The longest page that certainly came whole. */
  whole: number;
  /** Shorter lengths that came whole although they looked like a limit. */
  readonly innocent: Set<number>;
  /** The length at which the server cuts pages; Infinity where none was seen. */
  cap: number;
}

export function createLimitTrust(onCap: (cap: number) => void): LimitTrust {
  const known: Known = { whole: 0, innocent: new Set(), cap: Infinity };
  return {
    limit: (wanted) => Math.min(wanted, known.cap),
    openSpan: () => openSpan(known, onCap),
  };
}

function openSpan(known: Known, onCap: (cap: number) => void): SpanTrust {
  let doubted: ReadonlySet<string> = new Set();
  return {
    judge(asked, ids) {
      const rows = ids.length;
      const wasCut = doubted.size > 0 && ids.some((id) => !doubted.has(id));
      const cap = wasCut ? Math.min(known.cap, doubted.size) : known.cap;
      const isDoubted = rows < asked && isDoubtful({ ...known, cap }, rows);
      return {
        size: isDoubted ? rows : asked,
        accept: () => {
          if (cap < known.cap) onCap(cap);
          known.cap = cap;
          if (rows >= asked) known.whole = Math.max(known.whole, rows);
          if (wasCut) doubted = new Set();
          if (isDoubted && rows !== cap) doubted = new Set(ids);
        },
      };
    },
    ended() {
      if (doubted.size > 0) known.innocent.add(doubted.size);
      known.whole = Math.max(known.whole, doubted.size);
      doubted = new Set();
    },
  };
}

function isDoubtful({ whole, innocent, cap }: Known, rows: number): boolean {
  if (rows < FEWEST) return false;
  return rows === cap || rows > whole || (looksLikeLimit(rows) && !innocent.has(rows));
}

/** 10, 20, 50, 100, 256, 500, 1000 and their like. */
function looksLikeLimit(rows: number): boolean {
  return rows % 50 === 0 || (rows <= 100 && rows % 10 === 0) || Number.isInteger(Math.log2(rows));
}
