import { UsageError } from './errors.ts';

/** A half-open range `[from, to)` of unix seconds of chain time. */
export interface Range {
  readonly from: number;
  readonly to: number;
}

/** All possible seconds. */
export const ALWAYS: Range = { from: 0, to: 2 ** 40 };

/** Lengths of time in seconds. */
export const MINUTE = 60;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
const UNITS: Readonly<Record<string, number>> = { s: 1, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** The forms that `parseTime` accepts, for people. */
export const TIME_FORMS = [
  '2026-11-01',
  '2026-11',
  '2026-11-01T10:00Z',
  'unix seconds',
  '-6h',
  'yesterday',
  'today',
  'now',
];

/** The largest unix time that chains write: 32 bits. */
const LAST_SECOND = 2 ** 32 - 1;

/** Seconds of a duration such as `90s`, `5m`, `2h`, `7d`, `1w`. */
export function parseDuration(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*([smhdw])$/.exec(text.trim());
  const unit = UNITS[match?.[2] ?? ''];
  if (match === null || unit === undefined) {
    throw new UsageError(`"${text}" is not a duration: write it like 90s, 5m, 2h or 7d`);
  }
  const seconds = Math.round(Number(match[1]) * unit);
  if (seconds > LAST_SECOND) {
    throw new UsageError(`"${text}" is too long: the longest duration is ${Math.floor(LAST_SECOND / DAY)}d`);
  }
  return seconds;
}

/**
 * Unix seconds of a time in any form that the command line takes. A month or a day means its first second, all in UTC.
 * `now` is the present in unix seconds.
 */
export function parseTime(text: string, now: number): number {
  const word = text.trim();
  if (word === 'now') return now;
  if (word === 'today') return startOfDay(now);
  if (word === 'yesterday') return startOfDay(now) - DAY;
  if (/^-\d/.test(word) && /[a-z]$/.test(word)) return now - parseDuration(word.slice(1));
  if (/^\d{9,11}$/.test(word)) return Number(word);
  return parseCalendar(word);
}

function startOfDay(time: number): number {
  return time - (time % DAY);
}

/** An ISO 8601 day, month or time; a time without a zone is UTC. */
function parseCalendar(word: string): number {
  const match =
    /^(\d{4})-(\d{2})(?:-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?(Z|[+-]\d{2}:?\d{2})?)?)?$/.exec(word);
  if (/^\d{4}$/.test(word))
    throw new UsageError(
      `"${word}" is a year: write a month or a day of it, such as ${word}-01 or ${word}-01-31`,
    );
  if (match === null) throw new UsageError(`"${word}" is not a time: write it like ${TIME_FORMS.join(', ')}`);
  const [, year, month, day = '01', hour = '00', minute = '00', second = '00', zone = 'Z'] = match;
  const time = Date.parse(
    `${year}-${month}-${day}T${hour}:${minute}:${second}${zone.replace(/^([+-]\d{2})(\d{2})$/, '$1:$2')}`,
  );
  const valid = !Number.isNaN(time) && Number(day) <= daysInMonth(Number(year), Number(month));
  if (!valid) throw new UsageError(`"${word}" is not a valid date`);
  return Math.floor(time / 1000);
}

function daysInMonth(year: number, month: number): number {
  return new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** The range of `--from` and `--to`; `to` is exclusive. Throws a UsageError if it would be empty. */
export function parseRange(from: string, to: string, now: number): Range {
  const range = { from: parseTime(from, now), to: parseTime(to, now) };
  if (range.from >= range.to) {
    throw new UsageError(
      `--from (${formatTime(range.from)}) must lie before --to (${formatTime(range.to)}), which is exclusive`,
    );
  }
  return range;
}

/** Unix seconds of a source, a number or a string of digits; undefined for anything else. */
export function readSeconds(value: unknown): number | undefined {
  const isDigits = typeof value === 'string' && /^\d{1,10}$/.test(value);
  const seconds = isDigits ? Number(value) : value;
  const isInRange = typeof seconds === 'number' && Number.isSafeInteger(seconds) && seconds >= 0;
  return isInRange && seconds <= LAST_SECOND ? seconds : undefined;
}

/** The rows of a page share a few hundred seconds, so each one is formatted once. */
const printed = new Map<number, string>();
const MOST_PRINTED = 10_000;

/** ISO 8601 in UTC to the second, for the database and for people. */
export function formatTime(time: number): string {
  const known = printed.get(time);
  if (known !== undefined) return known;
  const text = new Date(time * 1000).toISOString().replace('.000Z', 'Z');
  if (printed.size === MOST_PRINTED) printed.clear();
  printed.set(time, text);
  return text;
}

/** The unix second of a time as `formatTime` prints it, or with a fraction. */
export function secondOfTime(text: string): number {
  return Math.floor(Date.parse(text) / 1000);
}

/** `2026-11-01T00:00:00Z .. 2026-11-02T00:00:00Z` */
export function formatRange(range: Range): string {
  return `${formatTime(range.from)} .. ${formatTime(range.to)}`;
}

/** `3d 4h`, `12m`, `45s`: the two largest units. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const parts: [number, string][] = [
    [Math.floor(whole / DAY), 'd'],
    [Math.floor((whole % DAY) / HOUR), 'h'],
    [Math.floor((whole % HOUR) / MINUTE), 'm'],
    [whole % MINUTE, 's'],
  ];
  const used = parts.filter(([count]) => count > 0).slice(0, 2);
  return used.length === 0 ? '0s' : used.map(([count, unit]) => `${count}${unit}`).join(' ');
}

/**
 * A range of which only the parts count, from the start of the first part to the end of the last. Without
 * parts, all of it counts.
 */
export interface Stretch extends Range {
  readonly parts?: readonly Range[];
}

/** The parts of a stretch that count, ascending. */
export function partsOf(stretch: Stretch): readonly Range[] {
  return stretch.parts ?? [stretch];
}

/** Joins ranges into stretches: ranges that are at most `gap` seconds apart become parts of one stretch. */
export function stretchesOf(ranges: readonly Range[], gap: number): Stretch[] {
  const stretches: Stretch[] = [];
  for (const range of union(ranges)) {
    const last = stretches.at(-1);
    if (last === undefined || range.from - last.to > gap) stretches.push(range);
    else
      stretches[stretches.length - 1] = {
        from: last.from,
        to: range.to,
        parts: [...partsOf(last), range],
      };
  }
  return stretches;
}

/** Seconds in all the ranges. */
export function lengthOf(ranges: readonly Range[]): number {
  return ranges.reduce((sum, { from, to }) => sum + (to - from), 0);
}

/** The same seconds as ascending ranges that neither overlap nor touch. */
export function union(...lists: readonly (readonly Range[])[]): Range[] {
  const sorted = lists.flat().toSorted((a, b) => a.from - b.from);
  const merged: Range[] = [];
  for (const range of sorted) {
    if (range.from >= range.to) continue;
    const last = merged.at(-1);
    if (last === undefined || range.from > last.to) merged.push(range);
    else if (range.to > last.to) merged[merged.length - 1] = { from: last.from, to: range.to };
  }
  return merged;
}

/** Seconds that are in both. */
export function common(a: readonly Range[], b: readonly Range[]): Range[] {
  const [left, right] = [union(a), union(b)];
  const shared: Range[] = [];
  let [i, j] = [0, 0];
  for (let x = left[i], y = right[j]; x !== undefined && y !== undefined; x = left[i], y = right[j]) {
    const range = { from: Math.max(x.from, y.from), to: Math.min(x.to, y.to) };
    if (range.from < range.to) shared.push(range);
    if (x.to < y.to) i += 1;
    else j += 1;
  }
  return shared;
}

/** Seconds of `a` that are not in `b`. */
export function without(a: readonly Range[], b: readonly Range[]): Range[] {
  return common(a, complement(union(b)));
}

function complement(ranges: readonly Range[]): Range[] {
  const edges = [-Infinity, ...ranges.flatMap(({ from, to }) => [from, to]), Infinity];
  return edges.flatMap((from, index) =>
    index % 2 === 0 ? [{ from, to: edges[index + 1] ?? Infinity }] : [],
  );
}

/** The range of one second. */
export function spanOfSecond(second: number): Range {
  return { from: second, to: second + 1 };
}

/** True if a second is in a range. */
export function isInside(second: number, { from, to }: Range): boolean {
  return second >= from && second < to;
}

/** The part that two ranges share, or undefined. */
export function intersect(a: Range, b: Range): Range | undefined {
  const range = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
  return range.from < range.to ? range : undefined;
}

/** Postgres' text of an `int8range`. */
export function toRangeText(range: Range): string {
  return `[${range.from},${range.to})`;
}

/** Postgres' text of an `int8multirange`. */
export function toMultirangeText(ranges: readonly Range[]): string {
  return `{${ranges.map(toRangeText).join(',')}}`;
}

/** Parses `[1,5)` or `{[1,5),[7,9)}`, the canonical text of Postgres' int8 ranges; an unbounded end is ±Infinity. */
export function parseRangeText(text: string): Range[] {
  return [...text.matchAll(/\[(-?\d+),(\d*)\)|\(,(\d*)\)/g)].map(([, from, to, only]) => ({
    from: from === undefined ? -Infinity : Number(from),
    to: bound(to ?? only),
  }));
}

function bound(text: string | undefined): number {
  return text === undefined || text === '' ? Infinity : Number(text);
}
