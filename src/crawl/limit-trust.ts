import type { Position } from '../dataset/paginators/paginator.ts';
import { readLt } from '../dataset/paginators/position.ts';
import type { Range } from '../range.ts';

/** Short pages of fewer rows are believed at once: no server caps so low, and quiet windows often hold as many. */
const FEWEST = 10;
/** After so many whole pages of a length the one that was cut counts as a server's that lagged behind. */
const WHOLE_PAGES = 3;

/**
 * Whether a short page may be the end of its window. A server that caps `limit` without a word cuts every page at the
 * same length. So a page is doubted where it is longer than every page before it, or of a length that people choose for
 * a limit. A doubted page counts as full: the paginator asks once more from its end. New rows of the same window say that
 * it was cut; the second time at the same length they prove the cap, and from then on no more is asked for. Once may be
 * a server that lagged behind. No new rows prove that pages of this length come whole.
 *
 * Each length is doubted at most once a run. On dense history nearly every page is full, so that the rule costs a few
 * requests a run.
 */
export interface LimitTrust {
  /** What to ask for where `wanted` rows are wanted: no more than the server is known to give. */
  limit(wanted: number): number;
  /** Begins to judge the pages of one span, in the order in which they come. */
  openSpan(span: Range): SpanTrust;
}

/** Judges the pages of one span. */
export interface SpanTrust {
  /** Nothing is remembered until the verdict is accepted. */
  judge(page: JudgedPage): PageVerdict;
  /** The span was read to its end. */
  ended(): void;
}

interface JudgedPage {
  /** The limit that was sent. */
  readonly asked: number;
  readonly window: AskedWindow;
  readonly positions: readonly Position[];
}

/** What a page was asked for, from its beginning on. */
interface AskedWindow {
  /** End, exclusive, unix seconds. */
  readonly until: number;
  /** Bounds of logical time, both included, where a second is taken apart by it. */
  readonly startLt?: bigint | undefined;
  readonly endLt?: bigint | undefined;
  /** Rows at its beginning that were left out. */
  readonly offset: number;
}

interface PageVerdict {
  /** The size by which a page is full or short: what was asked, or the page's own length where it may have been cut. */
  readonly size: number;
  /** The page is a response to its request: what it shows counts from now on. */
  readonly accept: () => void;
}

interface Known {
  /** The longest page that certainly came whole. */
  whole: number;
  /** The longest page of all: a server that cuts cuts no page shorter. */
  longest: number;
  /** Shorter lengths that came whole although they looked like a limit. */
  readonly innocent: Set<number>;
  /** Lengths at which a page was cut once, and how many pages of the length have come whole since. */
  readonly suspected: Map<number, number>;
  /** The length at which the server cuts pages; Infinity where none was proved. */
  cap: number;
}

/** A short page that may have been cut. */
interface DoubtfulPage {
  readonly ids: ReadonlySet<string>;
  /** New rows outside were not asked for with it. */
  readonly window: AskedWindow;
}

export function createLimitTrust(onCap: (cap: number) => void): LimitTrust {
  const known: Known = { whole: 0, longest: 0, innocent: new Set(), suspected: new Map(), cap: Infinity };
  return {
    limit: (wanted) => Math.min(wanted, known.cap),
    openSpan: (span) => openSpan(known, span, onCap),
  };
}

function openSpan(known: Known, span: Range, onCap: (cap: number) => void): SpanTrust {
  let doubt: DoubtfulPage | undefined;
  return {
    judge({ asked, window, positions }) {
      const rows = positions.length;
      const wasCut = doubt !== undefined && positions.some((position) => isNew(position, doubt));
      const isDoubted = rows < asked && isDoubtful(known, rows);
      return {
        size: isDoubted ? rows : asked,
        accept: () => {
          if (wasCut && doubt !== undefined) learnCut(known, doubt.ids.size, onCap);
          if (rows >= asked) known.whole = Math.max(known.whole, rows);
          known.longest = Math.max(known.longest, rows);
          if (wasCut) doubt = undefined;
          if (isDoubted && rows !== known.cap && showsItsEnd(window))
            doubt = {
              ids: new Set(positions.map(({ id }) => id)),
              window: { ...window, until: Math.min(window.until, span.to) },
            };
        },
      };
    },
    ended() {
      if (doubt === undefined) return;
      learnWhole(known, doubt.ids.size);
      doubt = undefined;
    },
  };
}

function isNew({ utime, lt, id }: Position, doubt: DoubtfulPage | undefined): boolean {
  if (doubt === undefined || doubt.ids.has(id)) return false;
  const { until, startLt, endLt } = doubt.window;
  if (utime >= until) return false;
  if (startLt === undefined && endLt === undefined) return true;
  const time = readLt(lt);
  if (time === undefined) return false;
  return (startLt === undefined || time >= startLt) && (endLt === undefined || time <= endLt);
}

/** Offsets within one logical time go in no fixed order: a row that comes later may have been left out before. */
function showsItsEnd({ offset, startLt, endLt }: AskedWindow): boolean {
  return offset === 0 || (startLt === undefined && endLt === undefined);
}

/** One whole page is no proof after one that was cut: a window may hold just as many rows as the server gives. */
function learnWhole(known: Known, rows: number): void {
  known.innocent.add(rows);
  known.whole = Math.max(known.whole, rows);
  const times = known.suspected.get(rows);
  if (times === undefined) return;
  if (times + 1 < WHOLE_PAGES) known.suspected.set(rows, times + 1);
  else known.suspected.delete(rows);
}

function learnCut(known: Known, rows: number, onCap: (cap: number) => void): void {
  if (!known.suspected.has(rows)) known.suspected.set(rows, 0);
  else if (rows < known.cap) {
    known.cap = rows;
    onCap(rows);
  }
}

function isDoubtful({ whole, longest, innocent, suspected, cap }: Known, rows: number): boolean {
  if (rows < FEWEST) return false;
  if (rows === cap || suspected.has(rows)) return true;
  return (rows > whole && rows >= longest) || (looksLikeLimit(rows) && !innocent.has(rows));
}

/** 10, 20, 50, 100, 256, 500, 1000 and their like. */
function looksLikeLimit(rows: number): boolean {
  return rows % 50 === 0 || (rows <= 100 && rows % 10 === 0) || Number.isInteger(Math.log2(rows));
}
