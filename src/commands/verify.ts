import { openCrawl, type Crawl } from '../app.ts';
import { systemClock } from '../clock.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { chooseDatasets, splitKinds, type Dataset } from '../dataset/dataset.ts';
import { readStatus } from '../db/read/status.ts';
import { EXIT, UsageError, type ExitCode } from '../errors.ts';
import { common, formatRange, parseRange, type Range } from '../range.ts';
import { createBlockSource } from '../verify/block-source.ts';
import { checkDeep } from '../verify/deep.ts';
import type { Finding } from '../verify/finding.ts';
import { repairRange, type RepairContext } from '../verify/repair.ts';
import { verifyRange, type Verified } from '../verify/verify.ts';
import type { Invocation } from './command.ts';
import { formatTable } from './output/table.ts';
import { withSource, type Opened } from './with-source.ts';

interface VerifyFlags {
  readonly from: string;
  readonly to: string;
  readonly only?: readonly string[];
  /** A share such as `1%`. */
  readonly deep?: string;
  readonly repair?: boolean;
  readonly json?: boolean;
  readonly record?: string;
}

/** How many ranges of one kind are printed before the rest is only counted. */
const SHOWN = 5;

/** `verify --from … --to …`: proves what is stored, and reads again what is wanting where it is told to. */
export async function verify(invocation: Invocation, flags: VerifyFlags): Promise<ExitCode> {
  const { config, now } = invocation;
  const range = parseRange(flags.from, flags.to, now);
  const share = flags.deep === undefined ? 0 : parseShare(flags.deep);
  const all = await loadDatasets();
  const jobs = splitKinds(all).streams;
  // A collection is of no time: of a range of it nothing can be proved.
  const datasets = splitKinds(chooseDatasets(flags.only ?? config.datasets, all)).streams;
  return withSource(invocation, { demo: 'still', applicationName: 'toncenter-etl verify' }, (opened) =>
    runOn({ ...opened, invocation, jobs, datasets, range, share }, flags),
  );
}

interface Errand extends Opened {
  readonly invocation: Invocation;
  readonly jobs: readonly Dataset[];
  readonly datasets: readonly Dataset[];
  readonly range: Range;
  readonly share: number;
}

async function runOn(errand: Errand, flags: VerifyFlags): Promise<ExitCode> {
  const { datasets, range, share } = errand;
  const crawl = await openCrawl({
    ...errand.invocation,
    ...errand,
    record: flags.record,
  });
  try {
    const context = contextOf(errand, crawl);
    let reports: readonly Verified[] = await verifyRange(context, datasets, range);
    if (share > 0) reports = await checkDeep(context, reports, share, Math.random);
    if (flags.repair === true) reports = (await repairRange(context, datasets, range, reports)).reports;
    const { requests } = crawl.context.api.stats;
    const causes = await causesOf(errand, reports);
    if (flags.json === true) console.log(JSON.stringify(toJson(range, reports, causes, requests), null, 2));
    else printReports(range, reports, causes, requests);
    return reports.every((report) => isProved(report, range)) ? EXIT.done : EXIT.incomplete;
  } finally {
    await crawl.close();
  }
}

function contextOf({ store, jobs, stop }: Errand, crawl: Crawl): RepairContext {
  const { context, planner, chain, owner } = crawl;
  return {
    database: store.database,
    jobs,
    stop,
    planner,
    owner,
    crawl: context,
    clock: systemClock,
    source: createBlockSource(context.api, chain, stop.leaving),
    watermark: chain.last.utime,
    leastPause: 0,
    insist: true,
  };
}

function parseShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim());
  const share = Number(match?.[1]) / 100;
  if (share > 0 && share <= 1) return share;
  throw new UsageError(`--deep "${text}" is no share: write it like 1% or 0.1%`);
}

function isProved({ verified }: Verified, range: Range): boolean {
  return verified.length === 1 && verified[0]?.from === range.from && verified[0].to === range.to;
}

/** Why seconds are not covered, as far as somebody knows. */
type Causes = ReadonlyMap<Verified, readonly string[]>;

async function causesOf({ store }: Errand, reports: readonly Verified[]): Promise<Causes> {
  const { refused } = await readStatus(store.database);
  return new Map(
    reports.map((report) => [
      report,
      refused
        .filter(({ dataset, scope }) => dataset === report.stream.dataset && scope === report.stream.scope)
        .filter(({ span }) => common(span, report.missing).length > 0)
        .map(({ span, reason, detail }) => `${span.map(formatRange).join()}: ${reason}, ${detail}`),
    ]),
  );
}

function printReports(range: Range, reports: readonly Verified[], causes: Causes, requests: number): void {
  console.log(`range     ${formatRange(range)} (UTC, end exclusive)`);
  const checks = reports.flatMap((report) => report.checks.map((check) => ({ name: nameOf(report), check })));
  console.log(
    formatTable(
      ['dataset', 'check', 'held', 'found', 'requests', 'ms'],
      sumUp(
        checks.map(({ name, check }) => [
          name,
          check.check,
          check.rows,
          check.findings,
          check.requests,
          check.ms,
        ]),
      ),
    ),
  );
  for (const report of reports)
    for (const line of linesOf(report, range, causes.get(report) ?? [])) console.log(line);
  const proved = reports.every((report) => isProved(report, range));
  console.log(`${proved ? 'proved' : 'not proved'}: ${formatRange(range)}, ${requests} requests`);
}

type Entry = readonly [string, string, number, readonly Finding[], number, number];

/** One line a dataset and check, whatever the number of stretches. */
function sumUp(entries: readonly Entry[]): string[][] {
  const lines = new Map<string, [string, string, number, number, number, number]>();
  for (const [name, check, rows, findings, requests, ms] of entries) {
    const line = lines.get(`${name} ${check}`) ?? [name, check, 0, 0, 0, 0];
    const found = findings.reduce((sum, { count }) => sum + count, 0);
    lines.set(`${name} ${check}`, [
      name,
      check,
      line[2] + rows,
      line[3] + found,
      line[4] + requests,
      line[5] + ms,
    ]);
  }
  return [...lines.values()].map((line) =>
    line.map((cell) => (typeof cell === 'number' ? String(Math.round(cell)) : cell)),
  );
}

function nameOf({ stream }: Verified): string {
  return stream.scope === '' ? stream.dataset : `${stream.dataset} ${stream.scope}`;
}

function linesOf(report: Verified, range: Range, causes: readonly string[]): string[] {
  const name = nameOf(report);
  const { grade, findings, missing } = report;
  const state = isProved(report, range) ? grade.grade : `not ${grade.grade}`;
  return [
    `${state.padEnd(9)} ${name}: ${isProved(report, range) ? `${grade.proves}; not seen: ${grade.blindTo}` : some(report.verified, 'nothing of it is')}`,
    ...missing.slice(0, SHOWN).map((gap) => `missing   ${name}: ${formatRange(gap)} is not covered`),
    ...more('missing', name, missing.length),
    ...causes.map((cause) => `refused   ${name}: ${cause}`),
    ...findings.map(
      ({ check, kind, count, spans, example }) =>
        `${check.padEnd(9)} ${name}: ${count} ${kind} (${example}) in ${some(spans, 'no second')}`,
    ),
    ...(missing.length > 0
      ? [
          `hint      toncenter-etl backfill --from ${missing[0]?.from ?? ''} --to ${missing.at(-1)?.to ?? ''} --only ${report.stream.dataset}`,
        ]
      : []),
  ];
}

function some(ranges: readonly Range[], none: string): string {
  if (ranges.length === 0) return none;
  const shown = ranges.slice(0, SHOWN).map(formatRange).join(', ');
  return ranges.length > SHOWN ? `${shown} and ${ranges.length - SHOWN} more` : shown;
}

function more(word: string, name: string, count: number): string[] {
  return count > SHOWN ? [`${word.padEnd(9)} ${name}: and ${count - SHOWN} more`] : [];
}

function toJson(range: Range, reports: readonly Verified[], causes: Causes, requests: number): object {
  return {
    range,
    requests,
    proved: reports.every((report) => isProved(report, range)),
    datasets: reports.map((report) => ({
      dataset: report.stream.dataset,
      scope: report.stream.scope,
      ...report.grade,
      covered: report.covered,
      verified: report.verified,
      missing: report.missing,
      refused: causes.get(report) ?? [],
      findings: report.findings.map(({ check, kind, outcome, count, spans, example }) => ({
        check,
        kind,
        outcome,
        count,
        spans,
        example,
      })),
      checks: report.checks.map(({ check, span, rows, requests: asked, ms, findings }) => ({
        check,
        span,
        rows,
        ms: Math.round(ms),
        requests: asked,
        findings: findings.length,
      })),
    })),
  };
}
