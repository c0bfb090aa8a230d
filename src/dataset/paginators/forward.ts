import { BadResponseError, NotJoinedError } from '../../errors.ts';
import type { Joins, Page, Paginator, Params, Position, Step, WholeSecondsPaginator } from './paginator.ts';
import { formatTime, spanOfSecond, type Range } from '../../range.ts';
import { nextLength } from './next-length.ts';
import { requireInside } from './require-inside.ts';
import { readLt } from './position.ts';

/** Seconds beyond the span that a request looks for successors: doubled while it finds none. */
const FIRST_LOOK_AHEAD = 30;
const LAST_LOOK_AHEAD = 8 * 60 * 60;
/** So often may the row that ended the last page be missing from its place before offsets are given up. */
const MOST_RESTARTS = 3;

export interface ForwardCursor {
  /** The next second to be completed; all before it in the span is done. */
  readonly at: number;
  readonly to: number;
  /** Rows of second `at` already read, and the id of the last of them. */
  readonly skip: number;
  readonly anchor: string;
  readonly restarts: number;
  readonly ahead: number;
  /** Seconds that a request of the largest page asks for. */
  readonly length: number;
  /** Set while second `at`, larger than a page, is taken apart. */
  readonly second: Second | undefined;
}

interface ForwardOptions {
  /**
   * How the endpoint sorts rows of one second. `total`: always alike, so a second larger than a page is read on by
   * offset. `partial`: any order, perhaps another in each request, so offsets would lose rows.
   */
  readonly order: 'total' | 'partial';
  /** The most rows that the endpoint gives at once. */
  readonly maxSize?: number;
  /** True where a short page may be cut short, and pages say by themselves how far they are joined (`joins`). */
  readonly joined?: boolean;
  /**
   * Seconds of the first request, where the server looks through all rows of the seconds asked for, however few it gives.
   * Later requests are as long as a page is likely to last; a smaller page is asked of fewer seconds. Default: all.
   */
  readonly narrow?: number;
}

/**
 * Reads a span in ascending time with closed windows, for endpoints that take `start_utime`, `end_utime`, `sort`,
 * `limit`. A full page whose last row lies in second `t` completes everything before `t`. In a total order reading goes
 * on at row `k` of second `t`: it asks from `k - 1` and requires that the page begins with the row that ended the last
 * one. In a partial order second `t` is read again, and one that fills a page alone is taken apart by logical time
 * (`second.ts`). No offset is deeper than one second. Pages must hold at least two rows.
 */
export function forward(
  options: ForwardOptions & { readonly order: 'partial' },
): WholeSecondsPaginator<ForwardCursor>;
export function forward(options: ForwardOptions): Paginator<ForwardCursor>;
export function forward({
  order,
  maxSize = 1000,
  joined = false,
  narrow,
}: ForwardOptions): Paginator<ForwardCursor> {
  const endOf = ({ at, to, length }: ForwardCursor, size: number) =>
    narrow === undefined ? to : Math.min(to, at + Math.max(1, Math.floor((length * size) / maxSize)));
  return {
    maxSize,
    wholeSeconds: order === 'partial',
    start: ({ from, to }, alone = false) => {
      const ahead = joined && !alone ? FIRST_LOOK_AHEAD : 0;
      return { ...FIRST, at: from, to, ahead, length: narrow ?? to - from };
    },
    request: (cursor, size) =>
      cursor.second === undefined
        ? windowRequest(cursor, endOf(cursor, size), size)
        : partRequest(cursor.second, cursor.at, size, maxSize),
    ofSecond: (second, { offset, limit }) => ({
      start_utime: second,
      end_utime: second,
      sort: 'asc',
      limit,
      offset,
    }),
    next: (cursor, page) => {
      if (cursor.second !== undefined) return nextPart(cursor, cursor.second, page);
      const until = Math.min(cursor.to, page.until ?? endOf(cursor, page.size));
      const step = nextPage({ ...cursor, to: until }, page, order);
      return narrow === undefined ? step : goOnBeyond(cursor, step, page, maxSize);
    },
  };
}

const FIRST = { skip: 0, anchor: '', restarts: 0, second: undefined };

/** The cursor at the beginning of a second. */
function begin({ to, ahead, length }: ForwardCursor, at: number): ForwardCursor {
  return { ...FIRST, at, to, ahead, length };
}

/** Behind the end of a narrowed request the span goes on; how long the next one is follows from what this one brought. */
function goOnBeyond(
  { to, ahead, length }: ForwardCursor,
  { completed, cursor }: Step<ForwardCursor>,
  { positions }: Page,
  maxSize: number,
): Step<ForwardCursor> {
  if (completed === undefined) return { completed, cursor: cursor && { ...cursor, to } };
  const seconds = completed.to - completed.from;
  const rows = positions.filter(({ utime }) => utime < completed.to).length;
  const next = nextLength({ length, seconds, rows, size: maxSize });
  const going = { ...(cursor ?? { ...FIRST, at: completed.to, ahead }), to, length: Math.max(1, next) };
  return { completed, cursor: going.at < to ? going : undefined };
}

function windowRequest(
  { at, skip, ahead }: ForwardCursor,
  until: number,
  size: number,
): Params & { readonly limit: number } {
  return {
    start_utime: at,
    end_utime: until - 1 + ahead,
    sort: 'asc',
    limit: size,
    offset: Math.max(0, skip - 1),
  };
}

/** A server that ignores the window or the sort would make everything after it wrong. */
function requireSorted(cursor: ForwardCursor, positions: readonly Position[]): void {
  const to = cursor.second === undefined ? cursor.to + cursor.ahead : cursor.at + 1;
  let latest = cursor.at;
  for (const position of positions) {
    requireInside(position, { from: cursor.at, to });
    const { utime, id } = position;
    if (utime < latest) throw new BadResponseError(`row ${id} of ${formatTime(utime)} is not sorted by time`);
    latest = utime;
  }
}

function nextPage(cursor: ForwardCursor, page: Page, order: ForwardOptions['order']): Step<ForwardCursor> {
  const { positions, size, joins = { until: cursor.to } } = page;
  requireSorted(cursor, positions);
  if (hasLostAnchor(cursor, positions)) return restart(cursor);
  const last = positions.at(-1);
  if (last === undefined || positions.length < size) return shortPage(cursor, joins);
  const { gapAt = Infinity } = joins;
  return gapAt < cursor.to ? goOnAtGap(cursor, gapAt) : fullPage(cursor, { ...page, last }, order);
}

function fullPage(
  cursor: ForwardCursor,
  { positions, isDoubted, last }: Pick<Page, 'positions' | 'isDoubted'> & { readonly last: Position },
  order: ForwardOptions['order'],
): Step<ForwardCursor> {
  if (last.utime >= cursor.to) return complete(cursor, cursor.to);
  if (order === 'total' && cursor.restarts < MOST_RESTARTS) return goOnBehind(cursor, last, positions);
  if (last.utime > cursor.at) return complete(cursor, last.utime);
  return {
    completed: undefined,
    cursor: { ...begin(cursor, cursor.at), second: openSecond(positions, isDoubted) },
  };
}

/** True where the row that the last page ended with does not begin this one. */
function hasLostAnchor({ skip, anchor }: ForwardCursor, positions: readonly Position[]): boolean {
  return skip > 0 && positions[0]?.id !== anchor;
}

/** Completes `[at, until)` of the span and goes on there. */
function complete(cursor: ForwardCursor, until: number): Step<ForwardCursor> {
  return {
    completed: range(cursor.at, until),
    cursor: until < cursor.to ? begin(cursor, until) : undefined,
  };
}

function goOnBehind(
  cursor: ForwardCursor,
  last: Position,
  positions: readonly Position[],
): Step<ForwardCursor> {
  const rows = positions.filter(({ utime }) => utime === last.utime).length;
  const before = last.utime === cursor.at ? Math.max(0, cursor.skip - 1) : 0;
  const restarts = last.utime === cursor.at ? cursor.restarts : 0;
  const next = {
    ...begin(cursor, last.utime),
    skip: before + rows,
    anchor: last.id,
    restarts,
  };
  return { completed: range(cursor.at, last.utime), cursor: next };
}

/** Another replica or build answered: its rows may stand elsewhere, so second `at` is read again from its first row. */
function restart(cursor: ForwardCursor): Step<ForwardCursor> {
  const restarts = cursor.restarts + 1;
  return { completed: undefined, cursor: { ...begin(cursor, cursor.at), restarts } };
}

/** Another server may have what this one lacks, so it is asked for again from the gap on. */
function goOnAtGap(cursor: ForwardCursor, gapAt: number): Step<ForwardCursor> {
  if (gapAt <= cursor.at) throw notJoined(cursor);
  return complete(cursor, gapAt);
}

function notJoined({ at }: ForwardCursor): NotJoinedError {
  return new NotJoinedError(`no row joins what lies at ${formatTime(at)} to what follows it`);
}

/** `until` is where the page's own links end: beyond it a successor may have been cut off. */
function shortPage(cursor: ForwardCursor, { until, gapAt = Infinity }: Joins): Step<ForwardCursor> {
  if (until >= cursor.to) return complete(cursor, cursor.to);
  if (until > cursor.at) return complete(cursor, until);
  if (gapAt <= cursor.at || cursor.ahead >= LAST_LOOK_AHEAD) throw notJoined(cursor);
  return { completed: undefined, cursor: { ...cursor, ahead: Math.max(FIRST_LOOK_AHEAD, cursor.ahead * 2) } };
}

function nextPart(cursor: ForwardCursor, before: Second, page: Page): Step<ForwardCursor> {
  requireSorted(cursor, page.positions);
  const second = readPart(before, page);
  if (second.parts.length > 0) return { completed: undefined, cursor: { ...cursor, second } };
  const step = complete(cursor, cursor.at + 1);
  return second.saturated ? { ...step, completed: undefined, saturated: spanOfSecond(cursor.at) } : step;
}

function range(from: number, to: number): Range | undefined {
  return from < to ? { from, to } : undefined;
}

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
interface Second {
  readonly parts: readonly SecondPart[];
  /** True once a part could not be read whole. */
  readonly saturated: boolean;
}

const WHOLE: SecondPart = { lo: undefined, hi: undefined };

/** Takes apart a second of which a full page was received, or looks for more than a page that may have been cut. */
function openSecond(positions: readonly Position[], isDoubted = false): Second {
  return {
    parts: isDoubted ? [{ ...WHOLE, shown: positions }] : split(WHOLE, positions),
    saturated: false,
  };
}

function partRequest(
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
function readPart(second: Second, page: Page): Second {
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
