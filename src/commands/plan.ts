import { openCrawl, type Crawl } from '../app.ts';
import { missingOf, reachOf } from '../crawl/streams/backfill.ts';
import { estimate, type Estimate, type Guess } from '../crawl/plan/estimate.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { probe, type Sample } from '../crawl/plan/probe.ts';
import { streamsOf } from '../crawl/streams/streams.ts';
import { chooseDatasets, splitKinds, type Dataset } from '../dataset/dataset.ts';
import { keepEstimate } from '../db/read/estimates.ts';
import { EXIT, type ExitCode } from '../errors.ts';
import { formatDuration, lengthOf, parseRange, type Range, union } from '../range.ts';
import type { Invocation } from './command.ts';
import { formatNumber } from './output/format-number.ts';
import { printSummary } from './output/summary.ts';
import { formatTable } from './output/table.ts';
import { withSource, type Opened } from './with-source.ts';

interface PlanFlags {
  readonly from: string;
  readonly to: string;
  readonly only?: readonly string[];
  readonly json?: boolean;
}

/** Looks into a range for each dataset. */
const LOOKS = 16;
/** Looks for each pool or account, and how many of them are looked at, where a dataset is read one by one. */
const LOOKS_OF_ONE = 4;
const MOST_SCOPES = 3;
/** Plans of requests a second that TON Center sells. */
const PLANS = [1, 10, 25, 100];
/** The budget keeps this part of a plan: slots lie a little apart. */
const USED = 0.96;
/**
 * Bytes in Postgres for each character of JSON, indexes included: bounds that were chosen, around what crawls of the
 * simulated network take.
 */
const DISK = { low: 0.4, likely: 0.75, high: 1.3 };
/** Transactions that traces bring and blocks prove are not asked for: what is left of their requests. */
const BROUGHT = { low: 0, likely: 0.1, high: 1 };
const WHOLE = { low: 1, likely: 1, high: 1 };

interface Planned {
  readonly dataset: string;
  readonly missing: readonly Range[];
  readonly estimate: Estimate;
}

/** `plan --from … --to …`: what a backfill will bring and cost, from a few looks into the range. */
export async function plan(invocation: Invocation, flags: PlanFlags): Promise<ExitCode> {
  const { config, now } = invocation;
  const wanted = parseRange(flags.from, flags.to, now);
  // A collection is of no time: its cost is told by its own report.
  const datasets = splitKinds(chooseDatasets(flags.only ?? config.datasets, await loadDatasets())).streams;
  return withSource(invocation, { demo: 'still', applicationName: 'toncenter-etl plan' }, (opened) =>
    runOn({ ...opened, invocation, datasets, wanted }, flags),
  );
}

interface Errand extends Opened {
  readonly invocation: Invocation;
  readonly datasets: readonly Dataset[];
  readonly wanted: Range;
}

async function runOn(errand: Errand, { json = false }: PlanFlags): Promise<ExitCode> {
  const { invocation, store, datasets, wanted, stop, baseUrl } = errand;
  const crawl = await openCrawl({ ...invocation, ...errand });
  try {
    const { context, chain } = crawl;
    const { watermarkDelay, rps } = invocation.config;
    const { range, watermark } = await reachOf({ context, chain }, wanted, watermarkDelay, stop.finishing);
    if (!json) {
      await printSummary({
        database: store.database,
        globalId: chain.globalId,
        baseUrl,
        datasets,
        wanted: range ?? wanted,
        ...(range === undefined && { note: 'nothing of it can be read now' }),
      });
    }
    if (range === undefined) return EXIT.incomplete;
    const planned: Planned[] = [];
    const missing = await missingOf(context, datasets, range, watermark);
    for (const dataset of datasets) {
      const gaps = union(missing.get(dataset.name) ?? []);
      const one = await planDataset(errand, crawl, dataset, range, gaps);
      planned.push({ dataset: dataset.name, missing: gaps, estimate: one });
      await keepEstimate(store.database, {
        dataset: dataset.name,
        span: range,
        missing: lengthOf(gaps),
        ...one,
        profile: [...one.profile],
      });
    }
    const probes = context.api.stats.requests;
    if (json) console.log(JSON.stringify(toJson(range, planned, rps, probes), null, 2));
    else printPlan(planned, rps, probes);
    return EXIT.done;
  } finally {
    await crawl.close();
  }
}

async function planDataset(
  { store, datasets, stop }: Errand,
  { context }: Crawl,
  dataset: Dataset,
  range: Range,
  missing: readonly Range[],
): Promise<Estimate> {
  const isScoped = dataset.job.scopes !== undefined;
  const streams = await streamsOf(store.database, dataset);
  const samples: Sample[][] = [];
  if (missing.length > 0)
    for (const stream of streams.slice(0, isScoped ? MOST_SCOPES : 1))
      samples.push(
        await probe(context, {
          dataset,
          stream,
          range,
          count: isScoped ? LOOKS_OF_ONE : LOOKS,
          signal: stop.leaving,
        }),
      );
  // Of several pools each part is looked at once for each: what they have in common is their mean.
  const merged = (samples[0] ?? []).map(({ stratum, from }, index) => {
    const looks = samples.flatMap((list) => list[index] ?? []);
    const sum = (member: 'seconds' | 'rows' | 'bytes') =>
      looks.reduce((total, look) => total + look[member], 0);
    return { stratum, from, seconds: sum('seconds'), rows: sum('rows'), bytes: sum('bytes') };
  });
  const names = new Set(datasets.map(({ name }) => name));
  const isBrought = dataset.name === 'transactions' && names.has('traces') && names.has('blocks');
  const twice = dataset.name === 'traces' && names.has('transactions');
  return estimate(merged, {
    missing,
    pageSize: dataset.job.paginator.maxSize,
    scopes: isScoped ? streams.length : 1,
    share: isBrought ? BROUGHT : WHOLE,
    // Traces carry transactions and messages, which are stored once.
    diskFactor: twice ? { low: 0.01, likely: 0.04, high: 0.1 } : DISK,
  });
}

function sumOf(planned: readonly Planned[], member: 'rows' | 'requests' | 'disk'): Guess {
  const add = (bound: keyof Guess) =>
    planned.reduce((total, { estimate: one }) => total + one[member][bound], 0);
  return { low: add('low'), likely: add('likely'), high: add('high') };
}

/** Seconds that so many requests take. */
const timeAt = (requests: number, rps: number) => requests / (rps * USED);

function printPlan(planned: readonly Planned[], rps: number, probes: number): void {
  const line = (name: string, rows: Guess, requests: Guess, disk: Guess) => [
    ...[name, spread(rows, formatNumber), spread(requests, formatNumber), spread(disk, formatBytes)],
    spread(requests, (count) => formatDuration(timeAt(count, rps))),
  ];
  const total = sumOf(planned, 'requests');
  console.log();
  console.log(
    formatTable(
      ['dataset', 'rows', 'requests', 'disk', `time at ${rps}/s`],
      [
        ...planned.map(({ dataset, estimate: { rows, requests, disk } }) =>
          line(dataset, rows, requests, disk),
        ),
        line('in all', sumOf(planned, 'rows'), total, sumOf(planned, 'disk')),
      ],
    ),
  );
  console.log();
  for (const plan of PLANS)
    console.log(
      `at ${String(plan).padStart(3)}/s  ${spread(total, (count) => formatDuration(timeAt(count, plan)))}`,
    );
  console.log(
    `looked    with ${probes} requests; the backfill of this range will be held against this estimate`,
  );
}

function spread({ low, likely, high }: Guess, format: (value: number) => string): string {
  return `${format(likely)} (${format(low)} to ${format(high)})`;
}

function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(2))} ${['B', 'kB', 'MB', 'GB', 'TB'][power] ?? ''}`;
}

function toJson(range: Range, planned: readonly Planned[], rps: number, probes: number): object {
  const times = (requests: Guess) =>
    Object.fromEntries(
      [...new Set([rps, ...PLANS])].map((plan) => [
        plan,
        {
          low: timeAt(requests.low, plan),
          likely: timeAt(requests.likely, plan),
          high: timeAt(requests.high, plan),
        },
      ]),
    );
  const total = {
    rows: sumOf(planned, 'rows'),
    requests: sumOf(planned, 'requests'),
    disk: sumOf(planned, 'disk'),
  };
  return {
    range,
    rps,
    probes,
    datasets: planned.map(({ dataset, missing, estimate: { rows, requests, disk } }) => ({
      dataset,
      missing,
      rows,
      requests,
      disk,
      secondsAt: times(requests),
    })),
    total: { ...total, secondsAt: times(total.requests) },
  };
}
