import { streamsOf, streamOf } from '../crawl/streams/planner.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../tables/describe.ts';
import { type GradeFacts, needsOf } from '../dataset/job.ts';
import { readCoverage, type Stream, forgetUnrepaired, readEverRead } from '../ledger/stored-coverage.ts';
import {
  forgetWrites,
  readLastWrite,
  readVerified,
  saveGrade,
  setVerified,
  type Certified,
  type Dependency,
} from '../write/certificates.ts';
import type { RowsReadByCheck, UnreadRows } from '../write/seals.ts';
import { common, type Range, without, partsOf, stretchesOf, union } from '../range.ts';
import {
  type VerifyContext,
  openStep,
  type Check,
  type CheckInput,
  type CheckStep,
  type CheckLook,
  type Result,
  JOINED,
  onFastSnapshot,
  type Why,
  type Checked,
  type Finding,
  spansOf,
  describeFinding,
} from './checks/check.ts';
import { readKeptFindings, keepFindings } from './keep-findings.ts';
import { databaseTime, type Session, type Database } from '../postgres/database.ts';
import { checksOf, isReadTwice } from './checks/every-check.ts';
import type { Stop } from '../stop.ts';
import { insertInto, multirangeParam, rangeParam } from '../postgres/sql.ts';
import { verifications } from '../tables/etl/verification.ts';
import { readFloors } from '../ledger/stored-settings.ts';

/** The result of verifying one dataset, or one scope of it, in a range. */
export interface Verified {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly grade: GradeFacts;
  readonly covered: readonly Range[];
  readonly missing: readonly Range[];
  /** Number of the last write before the checks, which have not seen later ones. */
  readonly lastWrite: number;
  /** Seconds that have the dataset's grade now. */
  readonly verified: readonly Range[];
  readonly checks: readonly Checked[];
  readonly findings: readonly Finding[];
}

/**
 * Proves the covered part of a range from the stored rows: runs every check of every dataset, stores what is verified,
 * and logs each check. It asks the API only for a few blocks around the range. Datasets that a chosen one depends on
 * are verified with it.
 */
export async function verifyRange(
  context: VerifyContext,
  datasets: readonly Dataset[],
  range: Range,
): Promise<Verified[]> {
  const proved = new Map<string, readonly Range[]>();
  const reports: Verified[] = [];
  for (const dataset of withDependencies(datasets, context.jobs)) {
    for (const stream of await streamsOf(context.database, dataset)) {
      const report = await verifyStream(context, dataset, stream, { range, proved });
      if (stream.scope === '') proved.set(dataset.name, report.verified);
      reports.push(report);
    }
  }
  await forgetWrites(context.database);
  const chosen = new Set(datasets.map(({ name }) => name));
  return reports.filter(({ dataset, covered }) => chosen.has(dataset.name) || covered.length > 0);
}

/** True if every second of the range has the dataset's grade. */
export function isWhollyVerified({ verified }: Verified, range: Range): boolean {
  return verified.length === 1 && verified[0]?.from === range.from && verified[0].to === range.to;
}

async function verifyStream(
  context: VerifyContext,
  dataset: Dataset,
  stream: Stream,
  { range, proved }: { readonly range: Range; readonly proved: ReadonlyMap<string, readonly Range[]> },
): Promise<Verified> {
  const { database, jobs } = context;
  const tables = ownTablesOf(dataset, jobs).map(([, table]) => table);
  const lastWrite = await readLastWrite(database, tables);
  const began = await databaseTime(database);
  const coverage = await readCoverage(database, stream);
  const covered = common(coverage, [range]);
  const ran = await runChecks(context, { dataset, stream, covered, coverage, proved });
  await keepFindings(database, { jobs, dataset, stream, began }, ran);
  const kept = await readKeptFindings(database, stream, covered, { checks: ran, began });
  const seen = [...ran.flatMap((check) => check.findings), ...kept];
  const good = without(covered, spansOf(seen));
  const { grade } = dataset.job;
  const verdict = { dataset, stream, lastWrite, checks: ran, findings: seen, verified: good };
  const unread = await certify(context, verdict);
  const [checks, findings] = [
    [...ran, ...unread],
    [...seen, ...unread.flatMap((check) => check.findings)],
  ];
  await saveGrade(database, dataset.name, grade);
  const verified = common(good, await readVerified(database, stream));
  const missing = without([range], covered);
  return { dataset, stream, grade, covered, missing, lastWrite, verified, checks, findings };
}

/** The conditions under which seconds of a stream get their certificates. */
export function certifiedOf(dataset: Dataset, stream: Stream, jobs: readonly Dataset[]): Certified {
  const tables = ownTablesOf(dataset, jobs).map(([, table]) => table);
  return { stream, tables, isReadTwice: isReadTwice(dataset), dependencies: dependenciesOf(dataset, jobs) };
}

async function certify(
  { database, jobs }: VerifyContext,
  report: Pick<Verified, 'dataset' | 'stream' | 'lastWrite' | 'checks' | 'findings' | 'verified'>,
): Promise<Checked[]> {
  const { dataset, stream, lastWrite, checks, findings, verified } = report;
  const bad = spansOf(findings.filter(({ outcome }) => outcome !== 'expired'));
  const verdict = { good: verified, bad, lastWrite, readRows: rowsReadBy(checks) };
  const unread = await setVerified(database, certifiedOf(dataset, stream, jobs), verdict);
  const short = unread.map((lack) => toChecked(stream, lack));
  await forgetUnrepaired(database, stream, without(verified, spansOf(unread)));
  await logChecks(database, [...checks, ...short]);
  return short;
}

/** All rows that some checks have read. */
export function rowsReadBy(checks: readonly Checked[]): RowsReadByCheck[] {
  return checks.flatMap(({ check, span, readRows }) =>
    readRows.map((rows) => ({ ...rows, check, stretch: span })),
  );
}

/**
 * The check did not look at the stored rows, so nothing proves these seconds, and reading them again would not help.
 */
export function toChecked({ dataset, scope }: Stream, { check, spans, sentence }: UnreadRows): Checked {
  const finding: Finding = {
    ...{ check, dataset, scope, spans, count: 1, rows: [] },
    kind: 'rows_not_held',
    example: `the check ${sentence}`,
    outcome: 'open',
  };
  const [span = { from: 0, to: 0 }] = stretchesOf(spans, Infinity);
  return { check, dataset, scope, span, findings: [finding], rows: 0, readRows: [], requests: 0, ms: 0 };
}

/** The stream to check, and what its checks depend on. */
interface StreamToCheck extends Pick<CheckInput, 'dataset' | 'stream' | 'covered' | 'coverage'> {
  /** Seconds of other datasets that are proved in this run, by name. */
  readonly proved: ReadonlyMap<string, readonly Range[]>;
}

/**
 * Runs every check of a dataset on its covered seconds. If a check did not look at some seconds, they become one of its
 * findings. Whether it read every row of the others is decided when the certificate is given.
 */
export async function runChecks(context: VerifyContext, input: StreamToCheck): Promise<Checked[]> {
  const made: { readonly check: Check; readonly checked: Checked }[] = [];
  for (const check of checksOf(input.dataset.job)) {
    for (const step of await stepsOf(context, check, input))
      made.push(...(await timed(context, input, check, step)).map((checked) => ({ check, checked })));
  }
  const all = made.flatMap(({ checked }) => checked.findings);
  return made.map(({ check, checked }) => ({
    ...checked,
    findings: checked.findings.flatMap((finding) => {
      const others = all.filter((other) => other.check !== finding.check);
      return check.unexplained?.(finding, others) ?? [finding];
    }),
  }));
}

/** The steps of a check, and one for each reason why it cannot check the rest of the covered seconds. */
async function stepsOf(context: VerifyContext, check: Check, input: StreamToCheck): Promise<CheckStep[]> {
  const { jobs } = context;
  const { eligible, expired, unproved } = await eligibilityOf(context.database, check, { ...input, jobs });
  const steps = await check.steps(context, {
    ...input,
    covered: eligible,
    stretches: stretchesOf(eligible, JOINED),
  });
  const unread = without(eligible, union(...steps.map(({ stretch }) => partsOf(stretch))));
  const kind = `no_proved_${needsOf(check.name).join('_')}`;
  const needed = `the ${needsOf(check.name).join(' and ')} of these seconds`;
  const open = (spans: readonly Range[], why: Why) =>
    stretchesOf(spans, Infinity).map((stretch) => openStep(check.name, input, stretch, why));
  return [
    ...steps,
    ...open(unproved, {
      kind,
      sentence: `${needed} are not proved, so there is nothing to compare these with`,
    }),
    ...open(expired, {
      kind,
      outcome: 'expired',
      sentence: `retention has dropped ${needed}, or what they depend on`,
    }),
    ...open(unread, { kind: 'not_checked', sentence: 'the check did not look at these seconds' }),
  ];
}

/** One entry for each check of the step. The first one gets the time and the requests. */
async function timed(
  { database, clock, source, stop }: VerifyContext,
  { dataset, stream }: Pick<CheckInput, 'dataset' | 'stream'>,
  { reads }: Check,
  step: CheckStep,
): Promise<Checked[]> {
  const { check, also, stretch } = step;
  const [start, asked] = [clock.monotonic(), source.requests()];
  const { findings, rows, readRows = [] } = await runStep({ database, stop }, stream, step);
  const none = reads(dataset.job).map((table) => ({ table, rows: 0, byMinute: '{}' }));
  const names = also === undefined ? [check] : [check, also];
  return names.map((name, index) => ({
    check: name,
    dataset: dataset.name,
    scope: stream.scope,
    span: stretch,
    rows,
    readRows: index === 0 ? [...none, ...readRows] : [],
    findings: findings.filter((finding) => finding.check === name),
    requests: index === 0 ? source.requests() - asked : 0,
    ms: index === 0 ? clock.monotonic() - start : 0,
  }));
}

export async function logChecks(session: Session, checks: readonly Checked[]): Promise<void> {
  for (const { check, dataset, scope, span, rows, requests, ms, findings } of checks)
    await session.run(
      insertInto(verifications, {
        ...{ dataset, scope, rows, requests },
        check_name: check,
        span: rangeParam(span),
        findings: findings.reduce((sum, { count }) => sum + count, 0),
        holes: multirangeParam(spansOf(findings)),
        detail: findings.map(describeFinding).join('; '),
        ms: Math.round(ms),
      }),
    );
}

/** Runs a check of one stretch. A warning of the server fails it, because the check may not have seen every row. */
export async function runStep(
  { database, stop }: { readonly database: Database; readonly stop: Pick<Stop, 'finishing'> },
  { dataset, scope }: Pick<Stream, 'dataset' | 'scope'>,
  { check, stretch, run }: CheckStep,
): Promise<Result> {
  stop.finishing.throwIfAborted();
  const facts = { check, dataset, scope, rows: [] };
  const warned: Finding[] = [];
  const onWarning = (text: string) => {
    const example = `the database warned during the check: ${text}`;
    warned.push({ ...facts, kind: 'warning', outcome: 'open', spans: partsOf(stretch), count: 1, example });
  };
  const look: CheckLook = (work) => onFastSnapshot(database, work, { onWarning, signal: stop.finishing });
  const result = await run(look);
  return { ...result, findings: [...result.findings, ...warned] };
}

/** The datasets that must be proved before a dataset's checks can run. */
function dependenciesOf(
  { job }: Dataset,
  jobs: readonly Dataset[],
): (Dependency & Pick<Verified, 'dataset'>)[] {
  const checks = checksOf(job);
  return jobs
    .filter(({ name }) => checks.some((check) => needsOf(check.name).includes(name)))
    .map((dataset) => {
      const resting = checks.filter((check) => needsOf(check.name).includes(dataset.name));
      const isOptional = resting.every((check) => check.isOptional === true);
      return { name: dataset.name, dataset, isOptional };
    });
}

/** Sorts datasets so that each comes after those that its checks need. Adds needed datasets that were not chosen. */
function withDependencies(datasets: readonly Dataset[], jobs: readonly Dataset[]): Dataset[] {
  const ordered = new Map<string, Dataset>();
  const add = (dataset: Dataset) => {
    if (ordered.has(dataset.name)) return;
    for (const dependency of dependenciesOf(dataset, jobs)) add(dependency.dataset);
    ordered.set(dataset.name, dataset);
  };
  for (const dataset of datasets) add(dataset);
  return [...ordered.values()];
}

/** The covered seconds of a dataset, by what a check can do with them. */
interface Eligibility {
  /** Seconds in which everything that the check needs is proved in this run. */
  readonly eligible: readonly Range[];
  /** Seconds for which retention has dropped a dataset that the check needs, directly or indirectly. */
  readonly expired: readonly Range[];
  /** All other seconds: nothing proves them. */
  readonly unproved: readonly Range[];
}

/** Decides in which seconds a check can run, and what happens to the rest. */
async function eligibilityOf(
  session: Session,
  { name: check, isOptional }: Check,
  { dataset, jobs, covered, proved }: StreamToCheck & Pick<VerifyContext, 'jobs'>,
): Promise<Eligibility> {
  const needs = needsOf(check);
  if (needs.length === 0) return { eligible: covered, expired: [], unproved: [] };
  const eligible = needs.reduce<readonly Range[]>(
    (left, name) => common(left, proved.get(name) ?? []),
    covered,
  );
  // Seconds that can have the grade without the check: it is optional, and what it needs was never read there.
  let exempt: readonly Range[] = isOptional === true ? without(covered, eligible) : [];
  for (const job of jobs.filter(({ name }) => needs.includes(name)))
    exempt = without(exempt, await readEverRead(session, streamOf(job), exempt));
  const rest = without(covered, [...eligible, ...exempt]);
  if (rest.length === 0) return { eligible, expired: [], unproved: [] };
  const floors = await readFloors(session);
  const below = withDependencies([dataset], jobs)
    .filter((dependency) => dependency !== dataset)
    .map(({ name }): Range => ({ from: 0, to: floors.datasets.get(name) ?? 0 }));
  return { eligible, expired: common(rest, below), unproved: without(rest, below) };
}
