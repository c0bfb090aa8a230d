import type { Page, Params, Position } from '../paginator.ts';
import { readLt } from '../position.ts';

/** Rounds of gathering one logical time before it is given up as saturated. */
const MOST_ROUNDS = 20;

/** Rows of one logical time, more than a page, in no fixed order: read by offset, in both directions in turn. */
interface TieGathering {
  readonly round: number;
  readonly offset: number;
  /** Rows counted in this round, repeated ones included: at its end, how many there are. */
  readonly counted: number;
  readonly seen: readonly string[];
}

const FIRST_ROUND: TieGathering = { round: 0, offset: 0, counted: 0, seen: [] };

/** The rows of a second whose logical time lies in `[lo, hi]`; undefined is unbounded. */
interface SecondPart {
  readonly lo: bigint | undefined;
  readonly hi: bigint | undefined;
  readonly gathering?: TieGathering;
  /** Rows of a page that may be all of them: it is asked whether there are more. */
  readonly shown?: readonly Position[];
}

/** A second with more rows than a page, taken apart by logical time; the first part is the next to be read. */
export interface Second {
  readonly parts: readonly SecondPart[];
  /** True once a part could not be read whole. */
  readonly saturated: boolean;
}

const WHOLE: SecondPart = { lo: undefined, hi: undefined };

/** Takes apart a second of which a full page was received, or looks for more than a page that may have been cut. */
export function openSecond(positions: readonly Position[], isDoubted = false): Second {
  return {
    parts: isDoubted ? [{ ...WHOLE, shown: positions }] : split(WHOLE, positions),
    saturated: false,
  };
}

export function partRequest(
  second: Second,
  at: number,
  size: number,
  maxSize: number,
): Params & { readonly limit: number } {
  const [part] = second.parts;
  if (part === undefined) return { start_utime: at, end_utime: at, sort: 'asc', limit: size, offset: 0 };
  const { round, offset } = part.gathering ?? FIRST_ROUND;
  return {
    start_utime: at,
    end_utime: at,
    ...(part.lo !== undefined && { start_lt: String(part.lo) }),
    ...(part.hi !== undefined && { end_lt: String(part.hi) }),
    sort: round % 2 === 0 ? 'asc' : 'desc',
    // A logical time cannot be split further, so it is asked for with all that one page may hold.
    limit: isSingle(part) ? maxSize : size,
    offset: part.shown?.length ?? offset,
  };
}

/** True for a part that is one logical time. */
function isSingle({ lo, hi }: SecondPart): boolean {
  return lo !== undefined && lo === hi;
}

/** What is left of the second after a page; no parts are left when it is read. */
export function readPart(second: Second, page: Page): Second {
  const [part, ...rest] = second.parts;
  if (part === undefined) return second;
  const after = { ...second, parts: rest };
  if (part.gathering !== undefined) return gather(part, part.gathering, page, after);
  if (part.shown !== undefined) return lookBehind(part, part.shown, page, after);
  if (page.positions.length < page.size) return after;
  if (isSingle(part)) return gather(part, FIRST_ROUND, page, after);
  if (page.isDoubted === true) return { ...second, parts: [{ ...part, shown: page.positions }, ...rest] };
  return { ...second, parts: [...split(part, page.positions), ...rest] };
}

/**
 * There are no more rows than were shown where none lie behind them, in whatever order they come. Else the page was cut, and
 * the part is taken apart.
 */
function lookBehind(
  { lo, hi }: SecondPart,
  shown: readonly Position[],
  { positions }: Page,
  after: Second,
): Second {
  if (positions.length === 0) return after;
  return { ...after, parts: [...split({ lo, hi }, [...shown, ...positions]), ...after.parts] };
}

/**
 * Around the median of the times received, because with a bound on utime the servers sort by nothing else: the page is
 * an arbitrary part of the rows, so going on behind its last row would skip some.
 */
function split(part: SecondPart, positions: readonly Position[]): SecondPart[] {
  const times = positions.flatMap(({ lt }) => readLt(lt) ?? []).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const median = times[Math.floor(times.length / 2)] ?? 0n;
  const below = { lo: part.lo, hi: median - 1n };
  const above = { lo: median + 1n, hi: part.hi };
  return [below, { lo: median, hi: median }, above].filter(
    ({ lo, hi }) => lo === undefined || hi === undefined || lo <= hi,
  );
}

/**
 * A round of offsets counts the rows, though it may see some twice and others not at all; it is complete when as many
 * different rows were seen as a round counts. This is a proof where "nothing new came" would be a guess. `after`: what is
 * left of the second when the part is read.
 */
function gather(part: SecondPart, before: TieGathering, page: Page, after: Second): Second {
  const goOn = (gathering: TieGathering) => ({ ...after, parts: [{ ...part, gathering }, ...after.parts] });
  const seen = [...new Set([...before.seen, ...page.positions.map(({ id }) => id)])];
  const counted = before.counted + page.positions.length;
  if (page.positions.length >= page.size) {
    return goOn({ ...before, offset: before.offset + page.size, counted, seen });
  }
  if (seen.length >= counted) return after;
  if (before.round + 1 >= MOST_ROUNDS) return { ...after, saturated: true };
  return goOn({ round: before.round + 1, offset: 0, counted: 0, seen });
}
