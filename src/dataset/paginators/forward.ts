import { BadResponseError, NotJoinedError } from '../../errors.ts';
import {
  type Joins,
  type Page,
  type Paginator,
  type Params,
  type Position,
  type Step,
  type WholeSecondsPaginator,
  nextLength,
  readLt,
  type Echo,
} from './paginator.ts';
import { formatTime, isInside, spanOfSecond, type Range, formatRange } from '../../range.ts';

/** Seconds beyond the span in which a request looks for successors: doubled while there are none. */
const FIRST_LOOK_AHEAD = 30;
const LAST_LOOK_AHEAD = 8 * 60 * 60;
/** How full a page of `forward` should be. Beyond the last row of a full page, the server has scanned for nothing. */
const FORWARD_AIM = 0.9;
/** How full a page of `window` should be. A full page is of no use: its window is requested again in smaller ones. */
const WINDOW_AIM = 0.75;
/** How often the row that ended the last page may be missing before offsets are given up. */
const MOST_RESTARTS = 3;

export interface ForwardCursor {
  /** The next second to complete; everything before it in the span is done. */
  readonly at: number;
  readonly to: number;
  /** Rows of second `at` that were read, and the id of the last one. */
  readonly skip: number;
  readonly anchor: string;
  readonly restarts: number;
  readonly ahead: number;
  /** Seconds that a request for the largest page spans. */
  readonly length: number;
  /** Set while second `at`, which is larger than a page, is split. */
  readonly second: Second | undefined;
}

interface ForwardOptions {
  /**
   * How the endpoint sorts rows of one second. `total`: always alike, so a second larger than a page is
   * continued by offset. `partial`: any order, possibly a different one in each request, so offsets would lose rows.
   */
  readonly order: 'total' | 'partial';
  /** Maximum number of rows in a response. */
  readonly maxSize?: number;
  /** True if a short page may have been cut, and pages show how far they are complete (`joins`). */
  readonly joined?: boolean;
  /**
   * Seconds of the first request, if the server scans all rows of the requested seconds, however few it returns. Later
   * requests span as much time as a page is likely to hold; smaller pages span less. Default: all.
   */
  readonly narrow?: number;
}

/**
 * Reads a span in ascending time with closed windows, for endpoints that take `start_utime`, `end_utime`, `sort`,
 * `limit`. A full page whose last row is in second `t` completes everything before `t`. In a total order, reading
 * continues at row `k` of second `t`: it requests from `k - 1` and requires that the page begins with the last row of
 * the page before. In a partial order, second `t` is read again. If it fills a page alone, it is split by logical time.
 * No offset is deeper than one second. Pages must hold at least two rows.
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
  const firstLength = (whole: number, pageSeconds: number | undefined) => {
    if (narrow === undefined || pageSeconds === undefined) return narrow ?? whole;
    const seen = { length: narrow, seconds: pageSeconds, rows: maxSize };
    return Math.max(1, nextLength({ ...seen, aim: FORWARD_AIM * maxSize }));
  };
  return {
    maxSize,
    wholeSeconds: order === 'partial',
    start: ({ from, to }, { alone = false, pageSeconds } = {}) => {
      const ahead = joined && !alone ? FIRST_LOOK_AHEAD : 0;
      return { ...FIRST, at: from, to, ahead, length: firstLength(to - from, pageSeconds) };
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

/** The cursor at the start of a second. */
function begin({ to, ahead, length }: ForwardCursor, at: number): ForwardCursor {
  return { ...FIRST, at, to, ahead, length };
}

/** Continues after the end of a narrowed request. The length of the next one follows from the rows of this one. */
function goOnBeyond(
  { to, ahead, length }: ForwardCursor,
  { completed, cursor }: Step<ForwardCursor>,
  { positions }: Page,
  maxSize: number,
): Step<ForwardCursor> {
  if (completed === undefined) return { completed, cursor: cursor && { ...cursor, to } };
  const seconds = completed.to - completed.from;
  const rows = positions.filter(({ utime }) => utime < completed.to).length;
  const next = nextLength({ length, seconds, rows, aim: FORWARD_AIM * maxSize });
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

/** If a server ignored the window or the order, all later steps would be wrong. */
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

/** True if this page does not begin with the last row of the page before. */
function hasLostAnchor({ skip, anchor }: ForwardCursor, positions: readonly Position[]): boolean {
  return skip > 0 && positions[0]?.id !== anchor;
}

/** Completes `[at, until)` of the span and continues there. */
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

/**
 * Another replica or build answered, whose order of rows may differ. So second `at` is read again from its first row.
 */
function restart(cursor: ForwardCursor): Step<ForwardCursor> {
  const restarts = cursor.restarts + 1;
  return { completed: undefined, cursor: { ...begin(cursor, cursor.at), restarts } };
}

/** Another server may have the missing rows, so the next request starts at the gap. */
function goOnAtGap(cursor: ForwardCursor, gapAt: number): Step<ForwardCursor> {
  if (gapAt <= cursor.at) throw notJoined(cursor);
  return complete(cursor, gapAt);
}

function notJoined({ at }: ForwardCursor): NotJoinedError {
  return new NotJoinedError(`no row connects ${formatTime(at)} with later rows`);
}

/** `until` is the end of the page's own links. Beyond it, a successor may have been cut off. */
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

/** Maximum number of rounds for one logical time before it counts as saturated. */
const MOST_ROUNDS = 20;

/**
 * Gathers the rows of one logical time that are more than a page and have no fixed order. They are read by
 * offset, in alternating directions.
 */
interface TieGathering {
  readonly round: number;
  readonly offset: number;
  /** Rows counted in this round, including repeated ones: at its end, the number of all rows. */
  readonly counted: number;
  readonly seen: readonly string[];
}

const FIRST_ROUND: TieGathering = { round: 0, offset: 0, counted: 0, seen: [] };

/** The rows of a second with a logical time in `[lo, hi]`; undefined is unbounded. */
interface SecondPart {
  readonly lo: bigint | undefined;
  readonly hi: bigint | undefined;
  readonly gathering?: TieGathering;
  /** A doubted page that may hold all rows: the next request checks for more. */
  readonly shown?: readonly Position[];
}

/** A second with more rows than a page, split by logical time. The first part is read next. */
interface Second {
  readonly parts: readonly SecondPart[];
  /** True once a part could not be read completely. */
  readonly saturated: boolean;
}

const WHOLE: SecondPart = { lo: undefined, hi: undefined };

/** Splits a second whose page was full. If the page was doubted, it first checks for more rows. */
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
    // A logical time cannot be split, so the largest page is requested.
    limit: isSingle(part) ? maxSize : size,
    offset: part.shown?.length ?? offset,
  };
}

/** True if the part is one logical time. */
function isSingle({ lo, hi }: SecondPart): boolean {
  return lo !== undefined && lo === hi;
}

/** The rest of the second after a page; it has no parts left when the second is read. */
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
 * If no row comes after those that were shown, in whatever order, these are all. Otherwise the page was
 * cut, and the part is split.
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
 * Splits at the median of the received times. With a bound on utime, servers sort by nothing else. So the
 * page is an arbitrary part of the rows, and continuing after its last row would skip some.
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
 * A round of offsets counts the rows, although it may see some twice and others not at all. The part is
 * complete when the number of distinct rows equals the count of a round. That is a proof, whereas "no new
 * rows came" would be a guess. `after`: the rest of the second once the part is read.
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

export interface WindowCursor {
  /** The next second to complete; everything before it in the span is done. */
  readonly at: number;
  readonly to: number;
  /** Seconds of the requested window, `[at, at + length)`. */
  readonly length: number;
}

/**
 * Reads a span in ascending windows, for endpoints that take `start_utime`, `end_utime` and `limit`, but return no
 * reliable order. So a full page only shows that its window was too wide, and a narrower one from the same second is
 * requested. A short page completes its window, and its density decides the width of the next one. A single second that
 * fills the largest page is saturated. `offsets`: true if the endpoint also takes `offset`.
 */
export function window({
  maxSize = 1000,
  offsets = false,
}: { readonly maxSize?: number; readonly offsets?: boolean } = {}): WholeSecondsPaginator<WindowCursor> {
  return {
    ofSecond: (second, { offset, limit }) =>
      offset > 0 && !offsets
        ? undefined
        : { start_utime: second, end_utime: second, limit, ...(offsets && { offset }) },
    maxSize,
    wholeSeconds: true,
    start: ({ from, to }) => ({ at: from, to, length: to - from }),
    request: (cursor, size) => {
      const { from, to } = windowOf(cursor);
      // A second cannot be split, so the largest page is requested.
      return { start_utime: from, end_utime: to - 1, limit: to - from === 1 ? maxSize : size };
    },
    next: (cursor, page) => {
      requireAsked(windowOf(cursor), page);
      return page.positions.length < page.size ? goOn(cursor, page) : narrow(cursor, page);
    },
  };
}

function windowOf({ at, to, length }: WindowCursor): Range {
  return { from: at, to: Math.min(at + length, to) };
}

/** Requires that the window in the response, and the times of its rows, are those of the request. */
function requireAsked(asked: Range, { positions, echo }: Page): void {
  if (echo !== undefined) requireEcho(asked, echo);
  for (const position of positions) requireInside(position, asked);
}

function requireEcho(asked: Range, echo: Echo): void {
  const from = echo.start_utime ?? asked.from;
  const to = (echo.end_utime ?? asked.to - 1) + 1;
  if (from === asked.from && to === asked.to) return;
  throw new BadResponseError(
    `asked for ${formatRange(asked)}, the response says that it is for ${formatRange({ from, to })}`,
  );
}

function goOn(cursor: WindowCursor, page: Page): Step<WindowCursor> {
  const completed = windowOf(cursor);
  const length = completed.to - completed.from;
  const next = nextLength({
    length,
    seconds: length,
    rows: page.positions.length,
    aim: WINDOW_AIM * page.size,
  });
  return { completed, cursor: from(completed.to, cursor.to, Math.floor(next)) };
}

/**
 * The page holds as many rows of the window as fit, usually the newest. If they are all in its later half,
 * the next window is everything before the earliest one; otherwise it is the first half. A doubted page probably holds
 * all rows, and nothing is before the earliest one.
 */
function narrow(cursor: WindowCursor, { positions, isDoubted = false }: Page): Step<WindowCursor> {
  const { from: at, to } = windowOf(cursor);
  if (to - at === 1) {
    const saturated = { from: at, to };
    return { completed: undefined, saturated, cursor: from(to, cursor.to, 1) };
  }
  const half = Math.floor((to - at) / 2);
  const before = Math.min(...positions.map(({ utime }) => utime)) - at;
  return {
    completed: undefined,
    cursor: from(at, cursor.to, before > 0 && !isDoubted ? Math.min(half, before) : half),
  };
}

function from(at: number, to: number, length: number): WindowCursor | undefined {
  return at < to ? { at, to, length: Math.max(1, length) } : undefined;
}

/** If a server answered for a window that was not requested, empty seconds would look covered. */
export function requireInside({ utime, id }: Position, asked: Range): void {
  if (isInside(utime, asked)) return;
  throw new BadResponseError(
    utime === 0
      ? `the time of row ${id} cannot be read, nor that of any other row of its page`
      : `row ${id} of ${formatTime(utime)} lies outside of the window that was asked for`,
  );
}
