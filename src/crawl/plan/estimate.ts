import type { Guess } from '../../read/row-estimates.ts';
import { common, DAY, lengthOf, type Range, isInside, union } from '../../range.ts';
import { LONGEST_PAGES } from '../request-bounds.ts';
import { rawOf } from '../../dataset/bytes/view.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { askPage, type PageRead } from '../streams/page.ts';

/** A sampled part of a range: its missing seconds, those of them that were not seen, and its rows a second. */
interface SampledPart {
  readonly span: Range;
  readonly missing: number;
  readonly unseen: number;
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
  /** What is to be read, in parts that no page crosses. */
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

/** Minimum relative uncertainty: a backfill counts the rows that two of its pages contain twice. */
const LEAST_DOUBT = 0.1;
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
  const { missing, scopes } = facts;
  const seen = samples.filter(({ seconds }) => seconds > 0);
  const rowsSeen = total(seen.map((sample) => sample.rows));
  const secondsSeen = Math.max(1, total(seen.map(({ seconds }) => seconds)));
  const parts = samples.map((sample): SampledPart => {
    const { stratum, rows, seconds } = sample;
    const length = lengthOf(common([stratum], missing));
    const rate = seconds > 0 ? rows / seconds : rowsSeen / secondsSeen;
    return { span: stratum, missing: length, unseen: Math.max(0, length - seconds), perSecond: rate };
  });
  // The parts of each sampled pool or account fill the missing seconds.
  const sampled = Math.max(1, total(parts.map((part) => part.missing)));
  const inSampled = total(parts.map((part) => part.perSecond * part.missing));
  const ofOne = (inSampled * lengthOf(missing)) / sampled;
  const unseen = (of: (part: SampledPart) => number) => total(parts.map((part) => of(part) * part.unseen));
  const hidden = Math.max(
    unseen(() => 1) / sampled,
    unseen((part) => part.perSecond) / Math.max(1, inSampled),
  );
  // Chance, like that of bursts, grows with the root of what it is drawn from.
  const unsure = Math.sqrt(hidden);
  // The difference of neighbors and the number of rows measure the same chance, so the greater one counts.
  const doubt = Math.max(
    LEAST_DOUBT,
    facts.scopesDoubt,
    2 * unsure * Math.sqrt(UNSEEN.clump / Math.max(1, rowsSeen)),
    differenceOf(parts) / Math.max(1, inSampled),
  );
  // Additional rows of bursts, as often as the samples ended in one.
  const beyond = seen.map(({ rows, seconds, cut }) => Math.max(0, cut - rows / seconds));
  const perSeen = lengthOf(missing) / secondsSeen;
  const bursts = total(beyond) * perSeen;
  const rows = {
    low: (scopes.low * ofOne * (1 - UNSEEN.below * unsure)) / (1 + doubt),
    likely: scopes.likely * (ofOne + bursts),
    // If no row was seen, there may still be some: the rule of three.
    high:
      scopes.high *
      ((ofOne + MOST_OF_BURST * bursts) * (1 + UNSEEN.above * unsure) * (1 + doubt) +
        (ofOne + bursts === 0 ? 3 * perSeen * hidden : 0)),
  };
  const each = total(seen.map(({ bytes }) => bytes)) / Math.max(1, rowsSeen);
  return {
    rows,
    requests: requestsFor(rows, facts),
    size: scaled(rows, each, facts.share),
    recordSize: each,
    disk: scaled(rows, each, facts.diskFactor),
  };
}

/**
 * Twice the standard error of stratified samples, estimated from the differences of neighbors. What was seen has none.
 */
function differenceOf(parts: readonly SampledPart[]): number {
  const jumps = parts.flatMap(({ span, perSecond }, index) => {
    const before = parts[index - 1];
    return before?.span.to === span.from ? [(perSecond - before.perSecond) ** 2] : [];
  });
  const spread = Math.sqrt(total(jumps) / (2 * Math.max(1, jumps.length)));
  return 2 * spread * Math.sqrt(total(parts.map(({ unseen }) => unseen ** 2)));
}

function requestsFor(rows: Guess, facts: EstimateFacts): Guess {
  const { missing, pageSize, scopes, share, requestsPerPage } = facts;
  if (lengthOf(missing) === 0) return { low: 0, likely: 0, high: 0 };
  // Each lease ends with a short page.
  const pages = (count: number) => (count / pageSize) * (1 + 1 / LONGEST_PAGES);
  // Each part ends with a short page.
  const least = missing.length;
  const bound = (bound: keyof Guess, count: number) =>
    Math.ceil(count * requestsPerPage[bound] * share[bound]);
  return {
    low: bound('low', Math.max(scopes.low * union(missing).length, pages(rows.low))),
    likely: bound('likely', scopes.likely * least + pages(rows.likely)),
    // Idle readers cut leases, and parts grow old.
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

/** The result of a sample request, and the part of the range that it stands for. */
export interface Sample {
  /** The part of the range that the sample stands for. */
  readonly stratum: Range;
  /** Its first second. */
  readonly from: number;
  /** Missing seconds that were seen whole. */
  readonly seconds: number;
  readonly rows: number;
  /** Rows of the fullest second that was seen only in part. There are many if the sample ended in a burst. */
  readonly cut: number;
  /** Characters of JSON of these rows. */
  readonly bytes: number;
}

/** Rows of a sample of a part: enough to be significant, few enough to cost the server little. */
const ROWS = 200;
/** Maximum number of requests of a sample. */
const MOST_PAGES = 6;
/** Multiples of the golden ratio fill an interval evenly, for any number of them. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;

type ProbeContext = Pick<CrawlContext, 'api' | 'network' | 'lts' | 'tuning'>;

interface ProbeOptions {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly missing: readonly Range[];
  readonly signal: AbortSignal;
}

interface ProbedParts {
  readonly count: number;
  /** The number of samples that were taken of other pools or accounts. */
  readonly index: number;
  /** The sample of the whole. It shows how many seconds a page spans. */
  readonly first?: readonly Sample[];
}

/**
 * Takes one sample of each of some equal parts of what is missing: if `first` is omitted of the whole, from its start.
 * If the parts last a day or longer, the samples are spread evenly over the hours of the day. Otherwise a network with
 * quiet nights could be taken for a quiet one.
 */
export async function probe(
  context: ProbeContext,
  { missing, ...options }: ProbeOptions,
  { count, index, first }: ProbedParts = { count: 1, index: 0 },
): Promise<Sample[]> {
  const edges = partsOf({ from: 0, to: lengthOf(missing) }, count).map(({ from }) => secondAt(missing, from));
  const most = first === undefined ? Infinity : ROWS;
  const samples: Sample[] = [];
  for (const [part, from] of edges.entries()) {
    const stratum = { from, to: edges[part + 1] ?? missing.at(-1)?.to ?? from };
    const before = [...(first ?? []), ...samples];
    const rows = Math.max(1, total(before.map((one) => one.rows)));
    const pageSeconds = (most * total(before.map(({ seconds }) => seconds))) / rows;
    const place = first === undefined ? from : placeIn(stratum, index + part, pageSeconds);
    // If the place is not missing, the next missing second is.
    const start = common([{ from: place, to: stratum.to }], missing)[0]?.from ?? from;
    samples.push(await sample(context, { ...options, missing, most }, stratum, start));
  }
  return samples;
}

/** The second before which `seconds` of some ranges lie. */
function secondAt(ranges: readonly Range[], seconds: number): number {
  let left = seconds;
  for (const { from, to } of ranges) {
    if (left < to - from) return from + left;
    left -= to - from;
  }
  throw new RangeError(`the ranges have no second ${seconds}`);
}

export function partsOf({ from, to }: Range, count: number): Range[] {
  const edge = (part: number) => from + Math.floor(((to - from) * part) / count);
  return Array.from({ length: count }, (_, part) => ({ from: edge(part), to: edge(part + 1) })).filter(
    (part) => part.from < part.to,
  );
}

/** The second at which the sample of a part begins, so that `seconds` of it fit in if possible. */
export function placeIn({ from, to }: Range, index: number, seconds = 0): number {
  const share = (index * GOLDEN) % 1;
  const length = to - from;
  const free = Math.max(0, length - seconds);
  if (length < DAY || free === 0) return from + Math.floor(free * share);
  const earliest = from + Math.floor((length - DAY) / 2);
  const hour = Math.floor(share * DAY);
  return earliest + ((((hour - earliest) % DAY) + DAY) % DAY);
}

/** The values of a column in the first pages of a range, and whether these hold all of its rows. */
export async function valuesIn(
  context: ProbeContext,
  options: Omit<ProbeOptions, 'missing'>,
  range: Range,
  column: string,
): Promise<{ readonly values: readonly string[]; readonly isWhole: boolean }> {
  const values = new Set<unknown>();
  let isWhole = false;
  for await (const { reading, step } of pagesOf(context, options, range)) {
    for (const row of reading.accepted.flatMap(({ rows }) => Object.values(rows).flat()))
      if (row !== undefined) values.add(Reflect.get(row, column));
    isWhole = step.cursor === undefined;
  }
  return { values: [...values].filter((value) => typeof value === 'string'), isWhole };
}

/** The first pages of a span, requested as the dataset's own paginator does. */
async function* pagesOf(
  context: ProbeContext,
  { dataset, stream, signal }: Omit<ProbeOptions, 'missing'>,
  span: Range,
  most = Infinity,
): AsyncGenerator<PageRead & { readonly isFull: boolean }> {
  const { paginator } = dataset.job;
  const { limits } = context.tuning(dataset);
  const size = limits.limit(Math.min(most, paginator.maxSize));
  const trust = limits.openSpan(span);
  let cursor: unknown = paginator.start(span);
  for (let page = 0; page < MOST_PAGES && cursor !== undefined; page += 1) {
    const paging = { dataset, stream, cursor, size, trust };
    const { value } = await askPage(context, { ...paging, priority: 'backfill', signal });
    yield { ...value, isFull: value.records.length >= size };
    cursor = value.step.cursor;
  }
}

/** Reads a part to its end, or if that is more than a page, until enough rows were seen. */
async function sample(
  context: ProbeContext,
  { missing, most, ...options }: ProbeOptions & { readonly most: number },
  stratum: Range,
  from: number,
): Promise<Sample> {
  const found = new Map<string, { readonly utime: number; readonly bytes: number }>();
  let at = from;
  let isMore = most === ROWS;
  const span = { from, to: stratum.to };
  for await (const { records, reading, step, isFull } of pagesOf(context, options, span, most)) {
    for (const [index, { id, utime }] of reading.positions.entries())
      found.set(id, { utime, bytes: sizeOf(rawOf(records[index])) });
    at = (step.completed ?? step.saturated)?.to ?? at;
    // One second of a burst shows little of the others.
    const times = [...found.values()].map(({ utime }) => utime);
    isMore ||= isFull;
    if (isMore && at > from && times.length - fullest(times) >= ROWS / 2) break;
  }
  const rowsIn = (ranges: readonly Range[]) =>
    [...found.values()].filter(({ utime }) => ranges.some((range) => isInside(utime, range)));
  const done = common([{ from, to: at }], missing);
  const rows = rowsIn(done);
  const later = rowsIn([{ from: at, to: stratum.to }]).map(({ utime }) => utime);
  return {
    ...{ stratum, from, seconds: lengthOf(done), rows: rows.length },
    cut: fullest(later),
    bytes: total(rows.map(({ bytes }) => bytes)),
  };
}

/** The number of rows in the fullest second. */
function fullest(times: readonly number[]): number {
  const counts = new Map<number, number>();
  for (const time of times) counts.set(time, (counts.get(time) ?? 0) + 1);
  return Math.max(0, ...counts.values());
}

function sizeOf(raw: unknown): number {
  return JSON.stringify(raw, (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value))
    .length;
}
