import type { Page, Params, Position } from '../paginator.ts';

/** Rounds of gathering one logical time before it is given up as saturated. */
const MOST_ROUNDS = 20;

/** Rows of one logical time, more than a page, in no fixed order: read by offset, in both directions in turn. */
interface Gathering {
  readonly round: number;
  readonly offset: number;
  /** Rows counted in this round, repeated ones included: at its end, how many there are. */
  readonly counted: number;
  readonly seen: readonly string[];
}

/** The rows of a second whose logical time lies in `[lo, hi]`; undefined is unbounded. */
interface Part {
  readonly lo: bigint | undefined;
  readonly hi: bigint | undefined;
  readonly gathering?: Gathering;
}

/** A second with more rows than a page, taken apart by logical time; the first part is the next to be read. */
export interface Second {
  readonly parts: readonly Part[];
  /** True once a part could not be read whole. */
  readonly saturated: boolean;
}

/** Takes apart a second of which a full page was received. */
export function openSecond(positions: readonly Position[]): Second {
  return { parts: split({ lo: undefined, hi: undefined }, positions), saturated: false };
}

export function partRequest(
  second: Second,
  at: number,
  size: number,
  maxSize: number,
): Params & { readonly limit: number } {
  const [part] = second.parts;
  const gathering = part?.gathering;
  const single = part !== undefined && part.lo !== undefined && part.lo === part.hi;
  return {
    start_utime: at,
    end_utime: at,
    ...(part?.lo !== undefined && { start_lt: String(part.lo) }),
    ...(part?.hi !== undefined && { end_lt: String(part.hi) }),
    sort: (gathering?.round ?? 0) % 2 === 0 ? 'asc' : 'desc',
    // A logical time cannot be split further, so it is asked for with all that one page may hold.
    limit: single ? maxSize : size,
    offset: gathering?.offset ?? 0,
  };
}

/** What is left of the second after a page; no parts are left when it is read. */
export function readPart(second: Second, page: Page): Second {
  const [part, ...rest] = second.parts;
  if (part === undefined) return second;
  const full = page.positions.length >= page.size;
  if (part.gathering !== undefined) return gather(part, part.gathering, rest, page, second.saturated);
  if (!full) return { ...second, parts: rest };
  if (part.lo !== undefined && part.lo === part.hi) {
    return gather(part, { round: 0, offset: 0, counted: 0, seen: [] }, rest, page, second.saturated);
  }
  return { ...second, parts: [...split(part, page.positions), ...rest] };
}

/**
 * Around the median of the times received, because with a bound on utime the servers sort by nothing else: the page is
 * an arbitrary part of the rows, so going on behind its last row would skip some.
 */
function split(part: Part, positions: readonly Position[]): Part[] {
  // A record that does not fit may lie in quarantine with any lt.
  const times = positions
    .filter(({ lt }) => /^\d{1,19}$/.test(lt))
    .map(({ lt }) => BigInt(lt))
    .sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const median = times[Math.floor(times.length / 2)] ?? 0n;
  const below = { lo: part.lo, hi: median - 1n };
  const above = { lo: median + 1n, hi: part.hi };
  return [below, { lo: median, hi: median }, above].filter(
    ({ lo, hi }) => lo === undefined || hi === undefined || lo <= hi,
  );
}

/**
 * A round of offsets counts the rows, though it may see some twice and others not at all; it is complete when as many
 * different rows were seen as a round counts. This is a proof where "nothing new came" would be a guess.
 */
function gather(
  part: Part,
  before: Gathering,
  rest: readonly Part[],
  page: Page,
  saturated: boolean,
): Second {
  const seen = [...new Set([...before.seen, ...page.positions.map(({ id }) => id)])];
  const counted = before.counted + page.positions.length;
  if (page.positions.length >= page.size) {
    const gathering = { ...before, offset: before.offset + page.size, counted, seen };
    return { parts: [{ ...part, gathering }, ...rest], saturated };
  }
  if (seen.length >= counted) return { parts: rest, saturated };
  if (before.round + 1 >= MOST_ROUNDS) return { parts: rest, saturated: true };
  const gathering = { round: before.round + 1, offset: 0, counted: 0, seen };
  return { parts: [{ ...part, gathering }, ...rest], saturated };
}
