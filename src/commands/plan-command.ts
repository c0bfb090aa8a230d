import type { Command } from 'commander';
import { openCrawl } from '../app/open-crawl.ts';
import { LEAST_SLACK_SECONDS } from '../ledger/shared-budget.ts';
import { type MachineSpeed, planDatasets, type Planned } from '../crawl/plan/plan-datasets.ts';
import { findReadablePart } from '../crawl/streams/readable-part.ts';
import { chooseDatasets, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { endpointOf } from '../ledger/stored-coverage.ts';
import type { Guess } from '../read/row-estimates.ts';
import { type EtlError, EXIT, type ExitCode } from '../errors.ts';
import { formatDuration, parseRange, type Range } from '../range.ts';
import { datasetList, examples } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withSource } from './run-command.ts';
import { absentLine, noteOnCut, printSummary } from './summary.ts';
import { fitsTerminal, formatNumber, formatTable } from './table.ts';

export function definePlan(command: Command): void {
  command
    .requiredOption('--from <time>', 'first second of the range, UTC')
    .requiredOption('--to <time>', 'end of the range, exclusive')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, separated by commas', datasetList)
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
It opens the database, because all processes share the rate of requests; without
one it creates an empty one.
${examples(
  'toncenter-etl plan --from 2026-01 --to 2026-02',
  'toncenter-etl plan --from -7d --to now --only transactions --json',
)}`,
    )
    .action((flags: PlanFlags) => runCommand((invocation) => plan(invocation, flags)));
}

interface PlanFlags {
  readonly from: string;
  readonly to: string;
  readonly only?: readonly string[];
  readonly json?: boolean;
}

/** `plan --from … --to …`: estimates what a backfill will store and cost, from a few samples of the range. */
async function plan(invocation: Invocation, flags: PlanFlags): Promise<ExitCode> {
  const { config, now } = invocation;
  const wanted = parseRange(flags.from, flags.to, now);
  // Collections have no range of time. `datasets` shows their cost.
  const jobs = await loadDatasets();
  const datasets = splitKinds(chooseDatasets(flags.only ?? config.datasets, jobs)).streams;
  const needs = { migrates: 'if new', isRepeatable: true, applicationName: 'toncenter-etl plan' } as const;
  return withSource(invocation, needs, async (opened) => {
    const { store, stop, baseUrl } = opened;
    return closeAfter(await openCrawl({ ...invocation, ...opened }), async (crawl) => {
      const { context, chain } = crawl;
      const delaySeconds = config.watermarkDelaySeconds;
      const looking = { delaySeconds, isEstimate: true, signal: stop.finishing };
      const { range, watermark } = await findReadablePart({ ...crawl, wanted, ...looking });
      const about = { database: store.database, globalId: chain.globalId, baseUrl, datasets };
      const note = noteOnCut({ range }, wanted, chain);
      if (flags.json !== true) await printSummary({ ...about, wanted: range ?? wanted, note });
      if (range === undefined) return EXIT.incomplete;
      const options = {
        datasets,
        jobs: splitKinds(jobs).streams,
        range,
        watermark,
        signal: stop.leaving,
      };
      const made = await planDatasets(context, options);
      const report = { range, ...made, rps: config.rps, probes: context.api.stats.requests };
      if (flags.json === true) console.log(JSON.stringify(planToJson(report), null, 2));
      else printPlan(report);
      return EXIT.done;
    });
  });
}

/** Requests a second of TON Center's plans. */
const PLANS = [1, 10, 25, 100];
/** The share of a plan that the budget uses: it leaves some time between slots. */
const USED = 1 / (1 + LEAST_SLACK_SECONDS);

interface PlanReport {
  readonly range: Range;
  readonly planned: readonly Planned[];
  readonly unknown: ReadonlyMap<string, EtlError>;
  readonly speed: MachineSpeed;
  readonly rps: number;
  /** Requests that were sent for the estimate. */
  readonly probes: number;
}

function printPlan({ planned, unknown, speed, rps, probes }: PlanReport): void {
  const total = totalOf(planned);
  const table = (show: typeof spread) =>
    formatTable(
      ['dataset', 'rows', 'requests', 'disk', `time at ${rps}/s`],
      [...planned, { dataset: 'in all', estimate: total }].map(({ dataset, estimate }) => [
        ...[dataset, show(estimate.rows, formatNumber), show(estimate.requests, formatNumber)],
        show(estimate.disk, formatBytes),
        show(timeAt(estimate, speed, rps), formatDuration),
      ]),
    );
  const wide = table(spread);
  console.log();
  console.log(fitsTerminal(wide) ? wide : table(({ likely }, format) => format(likely)));
  for (const [dataset, error] of unknown) console.log(unknownLine(dataset, error));
  console.log();
  for (const plan of PLANS) {
    const time = spread(timeAt(total, speed, plan), formatDuration);
    console.log(`at ${String(plan).padStart(3)}/s  ${time}`);
  }
  const source = speed.isSeen
    ? 'as measured here lately'
    : 'assumed for a small machine: nothing was read here yet at full speed';
  console.log(`machine   processes ${formatBytes(speed.perSecond)} of JSON a second, ${source}`);
  console.log(`samples   ${probes} requests; the backfill of this range will be compared with this estimate`);
}

function unknownLine(dataset: string, error: EtlError): string {
  const path = endpointOf(error);
  return path === undefined ? `not known ${dataset}: ${error.message}` : absentLine(dataset, path);
}

function planToJson({ range, planned, unknown, speed, rps, probes }: PlanReport): object {
  const total = totalOf(planned);
  return {
    range,
    rps,
    probes,
    unknown: [...unknown].map(([dataset, { code, message }]) => ({ dataset, code, message })),
    machine: speed,
    datasets: planned.map(({ dataset, missing, estimate: { rows, requests, size, disk } }) => ({
      dataset,
      missing,
      rows,
      requests,
      disk,
      secondsAt: secondsAt({ requests, size }, speed, rps),
    })),
    total: { ...total, secondsAt: secondsAt(total, speed, rps) },
  };
}

interface Guesses {
  readonly rows: Guess;
  readonly requests: Guess;
  /** Characters of JSON. */
  readonly size: Guess;
  readonly disk: Guess;
}

function totalOf(planned: readonly Planned[]): Guesses {
  const sum = (member: keyof Guesses) => {
    const add = (bound: keyof Guess) =>
      planned.reduce((total, { estimate }) => total + estimate[member][bound], 0);
    return { low: add('low'), likely: add('likely'), high: add('high') };
  };
  return { rows: sum('rows'), requests: sum('requests'), size: sum('size'), disk: sum('disk') };
}

type PlannedWork = Pick<Guesses, 'requests' | 'size'>;

/** Seconds that work takes: limited by the rate of requests, or by the machine's speed, whichever is slower. */
function timeAt({ requests, size }: PlannedWork, { perSecond }: MachineSpeed, rps: number): Guess {
  const longer = (bound: keyof Guess) => Math.max(requests[bound] / (rps * USED), size[bound] / perSecond);
  return { low: longer('low'), likely: longer('likely'), high: longer('high') };
}

/** Seconds for each plan, by its requests a second. */
function secondsAt(work: PlannedWork, speed: MachineSpeed, rps: number): Record<string, Guess> {
  return Object.fromEntries([...new Set([rps, ...PLANS])].map((plan) => [plan, timeAt(work, speed, plan)]));
}

function spread({ low, likely, high }: Guess, format: (value: number) => string): string {
  return `${format(likely)} (${format(low)} to ${format(high)})`;
}

function formatBytes(bytes: number): string {
  const power = bytes < 1 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  return `${Number((bytes / 1000 ** power).toPrecision(2))} ${['B', 'kB', 'MB', 'GB', 'TB'][power] ?? ''}`;
}
