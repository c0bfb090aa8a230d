import type { Guess } from '../../read/row-estimates.ts';
import { common, DAY, lengthOf, type Range, isInside } from '../../range.ts';
import { LONGEST_PAGES } from '../streams/planner.ts';
import { rawOf } from '../../dataset/bytes/view.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { askPage, type PageRead } from '../streams/page.ts';

/** Rows a second in a part of a range. */
interface RowRate {
  readonly span: Range;
  readonly perSecond: number;
}

/** What the missing part of a dataset will hold and cost. */
export interface Estimate {
  readonly rows: Guess;
  readonly requests: Guess;
  /** Characters of JSON to be received. */
  readonly size: Guess;
  /** Characters of one record. */
  readonly recordSize: number;
  /** Bytes in Postgres, indexes included. */
  readonly disk: Guess;
}

interface EstimateFacts {
  /** What is to be read. */
  readonly missing: readonly Range[];
  /** Maximum number of rows in a page. */
  readonly pageSize: number;
  /** The number of pools or accounts that it is read for, one by one; 1 if it is read as a whole. */
  readonly scopes: Guess;
  /** Relative uncertainty of the mean of the sampled pools or accounts. */
  readonly scopesDoubt: number;
  /** Requests for each page: more than 1 if the bounds of logical time may have to be requested. */
  readonly requestsPerPage: Guess;
  /** The share of its requests that is needed if other datasets contain the same rows; else 1. */
  readonly share: Guess;
  /** Bytes in Postgres for each character of JSON. */
  readonly diskFactor: Guess;
}

/** Minimum relative uncertainty of an estimate, whatever the samples show. */
const LEAST_DOUBT = 0.08;
/**
 * Uncertainty about unseen seconds: bursts, and rows that come in clumps. The numbers were chosen. The fewer
 * rows were seen, the wider is the range. On ten simulated networks with dense seconds, all ranges then
 * contain the outcome and span at most a factor of 8.
 */
const UNSEEN = { below: 0.25, above: 0.7, clump: 12 };
/** If a page ends within a burst, the burst may hold this many times the rows that were seen. */
const MOST_OF_BURST = 3;

/** Extrapolates from samples of a range to all of its missing seconds. */
export function estimate(samples: readonly Sample[], facts: EstimateFacts): Estimate {
  const seen = samples.filter(({ seconds }) => seconds > 0);
  const mean = total(seen.map(({ rows }) => rows)) / Math.max(1, total(seen.map(({ seconds }) => seconds)));
  const hours = dailyCycle(seen);
  const profile = samples.map((sample) => ({
    span: sample.stratum,
    perSecond: sample.seconds > 0 ? perSecond(sample, hours) : mean,
  }));
  const ofOne = rowsIn(profile, facts.missing);
  // The difference of neighbors and the number of rows measure the same chance, so the greater one counts.
  const doubt = Math.max(
    LEAST_DOUBT,
    facts.scopesDoubt,
    chance(seen),
    differenceOf(profile, facts.missing) / Math.max(1, ofOne),
  );
  const hidden = unseenShare(seen, facts.missing);
  const bursts = burstsIn(seen, facts.missing);
  const rows = {
    low: (facts.scopes.low * ofOne * (1 - UNSEEN.below * hidden)) / (1 + doubt),
    likely: facts.scopes.likely * (ofOne + bursts),
    // If no row was seen, there may still be some: the rule of three.
    high:
      facts.scopes.high *
      ((ofOne + MOST_OF_BURST * bursts) * (1 + UNSEEN.above * hidden) * (1 + doubt) +
        (ofOne + bursts === 0 ? unseen(seen, facts) : 0)),
  };
  const each = total(seen.map(({ bytes }) => bytes)) / Math.max(1, total(seen.map((sample) => sample.rows)));
  return {
    rows,
    requests: requestsFor(rows, facts),
    size: scaled(rows, each, facts.share),
    recordSize: each,
    disk: scaled(rows, each, facts.diskFactor),
  };
}

/**
 * The rate of a part: its daily mean if it lasts a day or longer, although it was sampled at one hour; else
 * the rate that was seen.
 */
function perSecond(sample: Sample, hours: ReturnType<typeof dailyCycle>): number {
  const seen = sample.rows / sample.seconds;
  return lengthOf([sample.stratum]) < DAY ? seen : seen / hours(sample);
}

/** The rows that a profile has in some ranges. */
function rowsIn(profile: readonly RowRate[], ranges: readonly Range[]): number {
  return total(profile.map(({ span, perSecond }) => perSecond * lengthOf(common([span], ranges))));
}

/** Twice the standard error of stratified samples, estimated from the differences of neighbors. */
function differenceOf(profile: readonly RowRate[], missing: readonly Range[]): number {
  const weights = profile.map(({ span }) => lengthOf(common([span], missing)));
  const jumps = profile
    .slice(1)
    .map((part, index) => (part.perSecond - (profile[index]?.perSecond ?? 0)) ** 2);
  const spread = Math.sqrt(total(jumps) / (2 * Math.max(1, jumps.length)));
  const error = spread * Math.sqrt(total(weights.map((weight) => weight ** 2)));
  return 2 * error;
}

/** The share of the missing seconds that no sample has seen. */
function unseenShare(seen: readonly Sample[], missing: readonly Range[]): number {
  return Math.max(0, 1 - total(seen.map(({ seconds }) => seconds)) / Math.max(1, lengthOf(missing)));
}

/** Twice the relative error of a count of rows that come in clumps. */
function chance(seen: readonly Sample[]): number {
  return 2 * Math.sqrt(UNSEEN.clump / Math.max(1, total(seen.map(({ rows }) => rows))));
}

/** Expected additional rows of bursts, as often as the samples ended in one. */
function burstsIn(seen: readonly Sample[], missing: readonly Range[]): number {
  const beyond = seen.map(({ rows, seconds, cut }) => Math.max(0, cut - rows / seconds));
  return (total(beyond) * lengthOf(missing)) / Math.max(1, total(seen.map(({ seconds }) => seconds)));
}

function unseen(seen: readonly Sample[], { missing }: EstimateFacts): number {
  return (3 * lengthOf(missing)) / Math.max(1, total(seen.map(({ seconds }) => seconds)));
}

function requestsFor(rows: Guess, facts: EstimateFacts): Guess {
  const { missing, pageSize, scopes, share, requestsPerPage } = facts;
  if (lengthOf(missing) === 0) return { low: 0, likely: 0, high: 0 };
  // Each lease ends with a short page.
  const pages = (count: number) => (count / pageSize) * (1 + 1 / LONGEST_PAGES);
  // A range has a live and an archived part, each of which ends with a short page.
  const least = missing.length;
  const bound = (bound: keyof Guess, count: number) =>
    Math.ceil(count * requestsPerPage[bound] * share[bound]);
  return {
    low: bound('low', Math.max(scopes.low * least, pages(rows.low))),
    likely: bound('likely', scopes.likely * least + pages(rows.likely)),
    // Idle readers cut leases, and each part ends with a short page.
    high: bound('high', scopes.high * 2 * least + IDLE_PAGES + 1.2 * pages(rows.high)),
  };
}

/** Short pages that idle readers may add. */
const IDLE_PAGES = 4;

function scaled(rows: Guess, each: number, by: Guess): Guess {
  return {
    low: rows.low * each * by.low,
    likely: rows.likely * each * by.likely,
    high: rows.high * each * by.high,
  };
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}

/** A sample of a chain: its start, its seconds, and the rows that it showed. */
interface ChainLook {
  readonly from: number;
  readonly seconds: number;
  readonly rows: number;
}

type Vector = readonly [number, number, number];

const OMEGA = (2 * Math.PI) / DAY;
/** Three parameters are fitted. With fewer samples they would follow noise. */
const LEAST_LOOKS = 8;
/** No hour counts as quieter than this share of the mean. */
const LEAST_FACTOR = 0.1;

/**
 * How busy the hours of a sample are, as a factor of the daily mean. It fits a cosine of 24 hours by least squares to
 * the means of all samples (single-component cosinor, Nelson et al., Chronobiologia 1979). Samples without rows do not
 * count. Always 1 if there are too few samples.
 *
 * The total of a range hardly needs it (within a factor of 1.2 either way), but the estimate of the time left does. On
 * a network that is ten times as busy at noon as at midnight, half-way estimates are 1 % off with it and 32 % without.
 */
function dailyCycle(looks: readonly ChainLook[]): (look: ChainLook) => number {
  const alive = looks.filter(({ rows, seconds }) => rows > 0 && seconds > 0);
  if (alive.length < LEAST_LOOKS) return () => 1;
  const points = alive.map((look) => ({ at: basis(look), value: look.rows / look.seconds }));
  const { mean, cosine, sine } = fit(points);
  if (!(mean > 0)) return () => 1;
  return (look) => {
    const [, cos, sin] = basis(look);
    return Math.max(LEAST_FACTOR, 1 + (cosine * cos + sine * sin) / mean);
  };
}

/** The means of 1, cosine and sine of the time of day over a sample. */
function basis({ from, seconds }: ChainLook): Vector {
  const [a, b] = [OMEGA * from, OMEGA * (from + seconds)];
  if (seconds === 0) return [1, Math.cos(a), Math.sin(a)];
  return [1, (Math.sin(b) - Math.sin(a)) / (b - a), (Math.cos(a) - Math.cos(b)) / (b - a)];
}

interface Point {
  readonly at: Vector;
  readonly value: number;
}

/** Solves the normal equations by Cramer's rule; NaN if the points do not determine the three parameters. */
function fit(points: readonly Point[]): {
  readonly mean: number;
  readonly cosine: number;
  readonly sine: number;
} {
  const sum = (of: (point: Point) => number) => points.reduce((total, point) => total + of(point), 0);
  const row = (weight: (at: Vector) => number): Vector => [
    sum(({ at }) => weight(at) * at[0]),
    sum(({ at }) => weight(at) * at[1]),
    sum(({ at }) => weight(at) * at[2]),
  ];
  // The matrix is symmetric: its rows are its columns.
  const [a, b, c] = [row((at) => at[0]), row((at) => at[1]), row((at) => at[2])];
  const target: Vector = [
    sum(({ at, value }) => at[0] * value),
    sum(({ at, value }) => at[1] * value),
    sum(({ at, value }) => at[2] * value),
  ];
  const whole = determinant(a, b, c);
  return {
    mean: determinant(target, b, c) / whole,
    cosine: determinant(a, target, c) / whole,
    sine: determinant(a, b, target) / whole,
  };
}

function determinant(a: Vector, b: Vector, c: Vector): number {
  return (
    a[0] * (b[1] * c[2] - b[2] * c[1]) -
    a[1] * (b[0] * c[2] - b[2] * c[0]) +
    a[2] * (b[0] * c[1] - b[1] * c[0])
  );
}

/** The result of a sample request, and the part of the range that it stands for. */
export interface Sample {
  /** The part of the range that the sample stands for. */
  readonly stratum: Range;
  /** Its first second. */
  readonly from: number;
  /** Seconds that were seen whole. */
  readonly seconds: number;
  readonly rows: number;
  /** Rows of the second in which the page ended, which was not seen whole. There are many if it ended in a burst. */
  readonly cut: number;
  /** Characters of JSON of these rows. */
  readonly bytes: number;
}

/** Rows of one sample: enough to be significant, few enough to cost the server little. */
const ROWS = 200;
/** How often a full window is narrowed at most. */
const MOST_PAGES = 6;
/** Multiples of the golden ratio fill an interval evenly, for any number of them. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

type ProbeContext = Pick<CrawlContext, 'api' | 'network' | 'lts' | 'tuning'>;

interface ProbeOptions {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly range: Range;
  /** Number of samples. */
  readonly count: number;
  readonly signal: AbortSignal;
}

/**
 * Takes one sample of each of `count` equal parts of a range. If the parts last a day or longer, the samples are spread
 * evenly over the hours of the day. Otherwise a network with quiet nights could be taken for a quiet one.
 */
export async function probe(
  context: ProbeContext,
  { range, count, ...options }: ProbeOptions,
): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const [index, stratum] of partsOf(range, count).entries()) {
    const from = placeIn(stratum, index);
    samples.push({ stratum, from, ...(await sample(context, options, { from, to: stratum.to })) });
  }
  return samples;
}

export function partsOf({ from, to }: Range, count: number): Range[] {
  const edge = (part: number) => from + Math.floor(((to - from) * part) / count);
  return Array.from({ length: count }, (_, part) => ({ from: edge(part), to: edge(part + 1) })).filter(
    (part) => part.from < part.to,
  );
}

/** The second at which the sample of a part begins. */
export function placeIn({ from, to }: Range, index: number): number {
  const share = (index * GOLDEN) % 1;
  const length = to - from;
  if (length < DAY) return from + Math.floor(length * 0.9 * share);
  const earliest = from + Math.floor((length - DAY) / 2);
  const hour = Math.floor(share * DAY);
  return earliest + ((((hour - earliest) % DAY) + DAY) % DAY);
}

/** The values of a column in the rows of the first page of a range. */
export async function valuesIn(
  context: ProbeContext,
  { dataset, stream, range, column, signal }: Omit<ProbeOptions, 'count'> & { readonly column: string },
): Promise<string[]> {
  const { paginator } = dataset.job;
  const { limits } = context.tuning(dataset);
  const { value } = await askPage(context, {
    ...{ dataset, stream, signal, priority: 'backfill' },
    cursor: paginator.start(range),
    size: limits.limit(paginator.maxSize),
    trust: limits.openSpan(range),
  });
  const rows = value.reading.accepted.flatMap((accepted) => Object.values(accepted.rows).flat());
  const values = rows.map((row): unknown => (row === undefined ? undefined : Reflect.get(row, column)));
  return [...new Set(values.filter((found) => typeof found === 'string'))];
}

/**
 * Follows the dataset's own paginator until some seconds are complete. Rows of an incomplete second at a
 * page's end do not count.
 */
async function sample(
  context: ProbeContext,
  { dataset, stream, signal }: Pick<ProbeOptions, 'dataset' | 'stream' | 'signal'>,
  span: Range,
): Promise<Omit<Sample, 'stratum' | 'from'>> {
  const { paginator } = dataset.job;
  const { limits } = context.tuning(dataset);
  const size = limits.limit(Math.min(ROWS, paginator.maxSize));
  const trust = limits.openSpan(span);
  let cursor: unknown = paginator.start(span);
  for (let page = 0; page < MOST_PAGES && cursor !== undefined; page += 1) {
    const paging = { dataset, stream, cursor, size, trust };
    const { value } = await askPage(context, { ...paging, priority: 'backfill', signal });
    const { completed } = value.step;
    if (completed !== undefined)
      return { seconds: completed.to - completed.from, ...measure(value, completed, span) };
    cursor = value.step.cursor;
  }
  return { seconds: 0, rows: 0, cut: 0, bytes: 0 };
}

/** Counts the rows of a page in its completed seconds, and the characters of their JSON. */
function measure(
  { records, reading }: PageRead,
  completed: Range,
  span: Range,
): Pick<Sample, 'rows' | 'cut' | 'bytes'> {
  const within = (range: Range) =>
    records.filter((_, index) => isInside(reading.positions[index]?.utime ?? -1, range));
  const rows = within(completed);
  const bytes = rows.reduce<number>((sum, record) => sum + sizeOf(rawOf(record)), 0);
  return { rows: rows.length, cut: within(span).length - rows.length, bytes };
}

function sizeOf(raw: unknown): number {
  return JSON.stringify(raw, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    .length;
}
