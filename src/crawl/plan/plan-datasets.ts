import { alsoHeldAmong, type Dataset } from '../../dataset/dataset.ts';
import { readBusyMoments, type BusyMoment } from '../../read/stored-status.ts';
import { keepEstimate, type Guess } from '../../read/row-estimates.ts';
import { EtlError } from '../../errors.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import { lengthOf, type Range, union } from '../../range.ts';
import type { CrawlContext } from '../crawl-context.ts';
import { isOfOneAlone } from '../source-guard.ts';
import { missingOf, streamOf, streamsOf, zonesOf } from '../streams/planner.ts';
import type { ReadablePart } from '../streams/readable-part.ts';
import { estimate, type Estimate, probe, valuesIn, type Sample } from './estimate.ts';
import type { InFlight } from '../../budget/request-budget.ts';

/** Samples of a range for each dataset. */
const SAMPLES = 16;
/**
 * Maximum number of pools or accounts that are sampled, once each, if a dataset is read one by one. A few of them may
 * have all rows.
 */
const MOST_SCOPES = 32;
/**
 * Bytes in Postgres for each character of JSON, indexes included. The bounds were chosen around measurements
 * of the simulated network.
 */
const DISK = { low: 0.4, likely: 0.75, high: 1.3 };
/** Traces contain transactions and messages, which are stored once. */
const DISK_STORED_TWICE = { low: 0.01, likely: 0.04, high: 0.1 };

/**
 * Requests for each full page of an endpoint that is indexed by logical time. Its pages are not quite full, and the bounds
 * of many pages may have to be requested.
 */
const WITH_BOUNDS = { low: 1, likely: 1.5, high: 2.5 };
const ONE = { low: 1, likely: 1, high: 1 };

export interface Planned {
  readonly dataset: string;
  readonly missing: readonly Range[];
  readonly estimate: Estimate;
}

/** The estimate of each dataset, and how fast this machine is for them. */
export interface Plan {
  readonly planned: readonly Planned[];
  /** The datasets without an estimate, with the reason: the server lacks the endpoint, or fails to answer it. */
  readonly unknown: ReadonlyMap<string, EtlError>;
  readonly speed: MachineSpeed;
}

interface PlanOptions {
  readonly datasets: readonly Dataset[];
  /** All datasets that exist. */
  readonly jobs: readonly Dataset[];
  readonly range: Range;
  readonly watermark: ReadablePart['watermark'];
  readonly signal: AbortSignal;
}

/** Estimates what is missing of each dataset in a range, and stores it for the backfill of this range. */
export async function planDatasets(context: CrawlContext, options: PlanOptions): Promise<Plan> {
  const { datasets, range, watermark } = options;
  const missing = await missingOf(context, datasets, range, watermark);
  const planned: Planned[] = [];
  const unknown = new Map<string, EtlError>();
  for (const dataset of datasets) {
    const isNew = (await streamsOf(context.database, dataset)).length === 0;
    // If no pool is known yet, the whole range is missing.
    const holes = isNew ? [range] : union(missing.get(dataset.name) ?? []);
    const one = await planDataset(context, dataset, holes, options).catch(whyUnknown);
    if (one instanceof EtlError) {
      unknown.set(dataset.name, one);
      continue;
    }
    planned.push({ dataset: dataset.name, missing: holes, estimate: one });
    await keepEstimate(context.database, {
      dataset: dataset.name,
      span: range,
      missing: lengthOf(holes),
      ...one,
    });
  }
  const sizes = new Map(planned.map(({ dataset, estimate: { recordSize } }) => [dataset, recordSize]));
  const moments = await readBusyMoments(context.database, STEP_SECONDS);
  return { planned, unknown, speed: machineSpeed(moments, sizes, context.api.inFlight.isRateBound) };
}

/** If the API fails for one dataset, it may still answer for the others. */
function whyUnknown(error: unknown): EtlError {
  if (error instanceof EtlError && isOfOneAlone(error)) return error;
  throw error;
}

async function planDataset(
  context: CrawlContext,
  dataset: Dataset,
  missing: readonly Range[],
  options: PlanOptions,
): Promise<Estimate> {
  const { datasets, watermark, signal } = options;
  const { streams, scopes } = await scopesOf(context, dataset, options);
  const sampled = missing.length === 0 ? [] : spread(streams, MOST_SCOPES);
  const samples: Sample[][] = [];
  for (const stream of sampled) samples.push(await probe(context, { dataset, stream, missing, signal }));
  const isCut = ([first]: readonly Sample[]) => first !== undefined && first.seconds < lengthOf(missing);
  const count = Math.ceil(SAMPLES / samples.filter(isCut).length);
  for (const [index, stream] of sampled.entries()) {
    const first = samples[index] ?? [];
    if (isCut(first))
      samples[index] = await probe(
        context,
        { dataset, stream, missing, signal },
        { count, index: count * index, first },
      );
  }
  const isStoredTwice = alsoHeldAmong(datasets).some(({ holder }) => holder.name === dataset.name);
  return estimate(samples.flat(), {
    missing: missing.flatMap((range) => zonesOf(range, watermark)),
    pageSize: dataset.job.paginator.maxSize,
    scopes,
    scopesDoubt: doubtOf(samples.map(rateOf), streams.length),
    requestsPerPage: dataset.job.index.of === 'lt' ? WITH_BOUNDS : ONE,
    share: neededShareOf(dataset.name, datasets),
    diskFactor: isStoredTwice ? DISK_STORED_TWICE : DISK,
  });
}

/**
 * The pools or accounts that a dataset is read for. If they are not known yet, they come from pages of
 * the dataset that names them.
 */
async function scopesOf(
  context: CrawlContext,
  dataset: Dataset,
  { datasets, jobs, range, signal }: PlanOptions,
): Promise<{ readonly streams: readonly Stream[]; readonly scopes: Guess }> {
  const known = await streamsOf(context.database, dataset);
  const { scopes } = dataset.job;
  if (scopes === undefined) return { streams: known, scopes: ONE };
  const { dataset: name, column } = scopes.seenIn;
  const source = jobs.find((job) => job.name === name);
  const { values, isWhole } =
    source === undefined
      ? { values: [], isWhole: true }
      : await valuesIn(context, { dataset: source, stream: streamOf(source), signal }, range, column);
  const newScopes = values.filter((scope) => known.every((stream) => stream.scope !== scope));
  const streams = [...known, ...newScopes.map((scope) => ({ ...streamOf(dataset), scope }))];
  // Pools become known by the rows that name them.
  const isNamed = datasets.some((chosen) => chosen.name === name);
  const low = isNamed ? streams.length : known.length;
  const high = isWhole ? streams.length : streams.length + newScopes.length;
  return { streams, scopes: { low, likely: streams.length, high } };
}

/** At most `most` elements of a list, evenly spread. */
function spread<T>(list: readonly T[], most: number): T[] {
  const step = Math.max(1, list.length / most);
  return list.filter((_, index) => Math.floor(index / step) > Math.floor((index - 1) / step));
}

function rateOf(samples: readonly Sample[]): number {
  const sum = (member: 'rows' | 'seconds') => samples.reduce((total, sample) => total + sample[member], 0);
  return sum('rows') / Math.max(1, sum('seconds'));
}

/** Twice the relative standard error of the mean of a sample of `of` values. */
function doubtOf(values: readonly number[], of: number): number {
  const mean = values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  if (mean === 0 || values.length < 2) return 0;
  const variance = (squares / (values.length - 1) / values.length) * (1 - values.length / of);
  return (2 * Math.sqrt(variance)) / mean;
}

const ALL: Guess = { low: 1, likely: 1, high: 1 };

/** Transactions that traces contain, and that blocks prove complete, are rarely requested. */
const ALSO_HELD: Guess = { low: 0, likely: 0.1, high: 1 };

/** The dataset of the same run whose pages contain nearly all rows of this one, if there is one. */
export function holderOf(dataset: string, datasets: readonly Dataset[]): string | undefined {
  return alsoHeldAmong(datasets).find((one) => one.dataset.name === dataset)?.holder.name;
}

/** The share of a dataset's requests that is needed if other datasets of the same run contain its rows. */
function neededShareOf(dataset: string, datasets: readonly Dataset[]): Guess {
  return holderOf(dataset, datasets) === undefined ? ALL : ALSO_HELD;
}

/** Seconds of one step of the commit history. */
const STEP_SECONDS = 10;

/** Characters of JSON a second that a small machine reads and writes: two shared cores with the database on them. */
const USUAL = 10_000_000;

/** The busiest steps may be chance; the next one counts. */
const CHANCE = 2;

/** How fast this machine reads and writes. */
export interface MachineSpeed {
  /** Characters of JSON a second. */
  readonly perSecond: number;
  /** True if it was measured in recent commits. */
  readonly isSeen: boolean;
}

/**
 * The speed of the busiest steps if these were not limited by the rate of requests; else the usual speed, or
 * the measured one if that is higher. `sizes`: characters of a record, by dataset.
 */
export function machineSpeed(
  moments: readonly BusyMoment[],
  sizes: ReadonlyMap<string, number>,
  isRateBound: InFlight['isRateBound'],
): MachineSpeed {
  const steps = new Map<number, { size: number; requests: number; waitedMs: number }>();
  for (const { at, dataset, rows, requests, waitedMs } of moments) {
    const step = steps.get(at) ?? { size: 0, requests: 0, waitedMs: 0 };
    step.size += rows * (sizes.get(dataset) ?? 0);
    step.requests += requests;
    step.waitedMs += waitedMs;
    steps.set(at, step);
  }
  // If requests did not follow each other closely, there was nothing more to read: the daemon was idle.
  const busy = [...steps.values()].filter(({ waitedMs }) => waitedMs >= 1000 * STEP_SECONDS);
  const seen = busy.sort((a, b) => b.size - a.size)[CHANCE];
  if (seen === undefined || seen.size === 0) return { perSecond: USUAL, isSeen: false };
  const perSecond = seen.size / STEP_SECONDS;
  const isLimited = isRateBound(seen.requests, 1000 * STEP_SECONDS);
  return isLimited && perSecond < USUAL ? { perSecond: USUAL, isSeen: false } : { perSecond, isSeen: true };
}
