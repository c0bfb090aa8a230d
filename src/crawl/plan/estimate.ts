import type { Guess } from '../../db/read/estimates.ts';
import { common, DAY, lengthOf, type Range } from '../../range.ts';
import { LONGEST_PAGES } from '../streams/lease-length.ts';
import { dailyCycle } from './daily-cycle.ts';
import type { Sample } from './probe.ts';

/** Rows a second in a part of a range. */
export interface RowRate {
  readonly span: Range;
  readonly perSecond: number;
}

/** What reading the missing part of a dataset will bring and cost. */
export interface Estimate {
  readonly rows: Guess;
  readonly requests: Guess;
  /** Characters of JSON that will come. */
  readonly size: Guess;
  /** Characters of one record. */
  readonly recordSize: number;
  /** Bytes in Postgres, indexes included. */
  readonly disk: Guess;
  readonly profile: readonly RowRate[];
}

interface EstimateFacts {
  /** What is to be read. */
  readonly missing: readonly Range[];
  /** The most rows of a page. */
  readonly pageSize: number;
  /** How many pools or accounts it is read for, one by one; 1 where it is read whole. */
  readonly scopes: number;
  /** The part of its requests that is needed where other datasets bring the same rows; else 1. */
  readonly share: Guess;
  /** Bytes in Postgres for each character of JSON. */
  readonly diskFactor: Guess;
}

/** No estimate is better than this, whatever the samples say. */
const LEAST_DOUBT = 0.08;

/** From looks into the parts of a range to what all of its missing seconds hold. Burst seconds between looks are not seen. */
export function estimate(samples: readonly Sample[], facts: EstimateFacts): Estimate {
  const seen = samples.filter(({ seconds }) => seconds > 0);
  const mean = total(seen.map(({ rows }) => rows)) / Math.max(1, total(seen.map(({ seconds }) => seconds)));
  const hours = dailyCycle(seen);
  const profile = samples.map((sample) => ({
    span: sample.stratum,
    perSecond: sample.seconds > 0 ? perSecond(sample, hours) : mean,
  }));
  const likely = facts.scopes * rowsIn(profile, facts.missing);
  const doubt = facts.scopes * doubtOf(profile, facts.missing);
  const rows = {
    low: Math.max(0, likely - doubt),
    likely,
    // Nothing seen does not prove that nothing is there: the rule of three.
    high: likely + doubt + (likely === 0 ? unseen(seen, facts) : 0),
  };
  const each = total(seen.map(({ bytes }) => bytes)) / Math.max(1, total(seen.map((sample) => sample.rows)));
  return {
    rows,
    requests: requestsFor(rows, facts),
    size: sizeFor(rows, each, facts),
    recordSize: each,
    disk: diskFor(rows, each, facts),
    profile,
  };
}

/** Of a part that lasts a day or longer its mean, though it was looked into at one hour; of a shorter one what was seen. */
function perSecond(sample: Sample, hours: ReturnType<typeof dailyCycle>): number {
  const seen = sample.rows / sample.seconds;
  return lengthOf([sample.stratum]) < DAY ? seen : seen / hours(sample);
}

/** Rows that a profile has in ranges. */
export function rowsIn(profile: readonly RowRate[], ranges: readonly Range[]): number {
  return total(profile.map(({ span, perSecond }) => perSecond * lengthOf(common([span], ranges))));
}

/** Twice the standard error of stratified samples, judged by how neighbours differ. */
function doubtOf(profile: readonly RowRate[], missing: readonly Range[]): number {
  const weights = profile.map(({ span }) => lengthOf(common([span], missing)));
  const jumps = profile
    .slice(1)
    .map((part, index) => (part.perSecond - (profile[index]?.perSecond ?? 0)) ** 2);
  const spread = Math.sqrt(total(jumps) / (2 * Math.max(1, jumps.length)));
  const error = spread * Math.sqrt(total(weights.map((weight) => weight ** 2)));
  return Math.max(LEAST_DOUBT * rowsIn(profile, missing), 2 * error);
}

function unseen(seen: readonly Sample[], { missing, scopes }: EstimateFacts): number {
  return (3 * scopes * lengthOf(missing)) / Math.max(1, total(seen.map(({ seconds }) => seconds)));
}

function requestsFor(rows: Guess, { missing, pageSize, scopes, share }: EstimateFacts): Guess {
  if (lengthOf(missing) === 0) return { low: 0, likely: 0, high: 0 };
  // Each lease ends with a short page.
  const pages = (count: number) => (count / pageSize) * (1 + 1 / LONGEST_PAGES);
  // A range has a live and an archived part, each of which ends with a short page.
  const least = scopes * missing.length;
  return {
    low: Math.ceil(Math.max(least, pages(rows.low)) * share.low),
    likely: Math.ceil((least + pages(rows.likely)) * share.likely),
    high: Math.ceil((2 * least + 1.05 * pages(rows.high)) * share.high),
  };
}

function sizeFor(rows: Guess, each: number, { share }: EstimateFacts): Guess {
  return {
    low: rows.low * each * share.low,
    likely: rows.likely * each * share.likely,
    high: rows.high * each * share.high,
  };
}

function diskFor(rows: Guess, bytes: number, { diskFactor }: EstimateFacts): Guess {
  return {
    low: rows.low * bytes * diskFactor.low,
    likely: rows.likely * bytes * diskFactor.likely,
    high: rows.high * bytes * diskFactor.high,
  };
}

function total(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0);
}
