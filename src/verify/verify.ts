import { streamsOf } from '../crawl/streams/streams.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownTablesOf } from '../db/schema/owners.ts';
import type { GradeFacts } from '../dataset/grade.ts';
import { readCoverage, type Stream } from '../db/coverage/coverage.ts';
import { forgetHoles } from '../db/coverage/holes.ts';
import { forgetWrites, readLastWrite } from '../db/write/writes.ts';
import { readVerified, saveGrade, setVerified, type Certified } from '../db/coverage/verifications.ts';
import { common, type Range, without } from '../range.ts';
import type { VerifyContext } from './check.ts';
import type { Checked, Finding } from './finding.ts';
import { groundsOf, withdrawFallen, withGround } from './ground.ts';
import { logChecks } from './run/log-checks.ts';
import { isReadTwice } from './checks/second-reading.ts';
import { rememberedFindings, rememberFindings } from './remember.ts';
import { runChecks } from './run/run-checks.ts';
import { databaseTime } from '../db/connection/server-clock.ts';
import { spansOf } from './finding.ts';

/** What became of one dataset, or of one pool of it, in a range. */
export interface Verified {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly grade: GradeFacts;
  readonly covered: readonly Range[];
  readonly missing: readonly Range[];
  /** Number of the last write before the checks: they have not seen later ones. */
  readonly lastWrite: number;
  /** Seconds that have the dataset's grade now. */
  readonly verified: readonly Range[];
  readonly checks: readonly Checked[];
  readonly findings: readonly Finding[];
}

/**
 * Proves what is covered of a range from the rows that are stored: runs every check of every dataset, remembers what is
 * verified, logs each check. Asks the API for a few blocks around the range and for nothing else. Datasets that a chosen
 * one rests on are verified with it.
 */
export async function verifyRange(
  context: VerifyContext,
  datasets: readonly Dataset[],
  range: Range,
): Promise<Verified[]> {
  const proved = new Map<string, readonly Range[]>();
  const reports: Verified[] = [];
  for (const dataset of withGround(datasets, context.jobs)) {
    for (const stream of await streamsOf(context.database, dataset)) {
      const report = await verifyStream(context, dataset, stream, { range, proved });
      if (stream.scope === '') proved.set(dataset.name, report.verified);
      reports.push(report);
    }
  }
  await withdrawFallen(context, [range]);
  await forgetWrites(context.database);
  const chosen = new Set(datasets.map(({ name }) => name));
  return reports.filter(({ dataset, covered }) => chosen.has(dataset.name) || covered.length > 0);
}

/** True where the whole range has its dataset's grade. */
export function isProved({ verified }: Verified, range: Range): boolean {
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
  const checks = await runChecks(context, { dataset, stream, covered, coverage, proved });
  await rememberFindings(database, { jobs, dataset, stream, began }, checks);
  const remembered = await rememberedFindings(database, stream, covered, { checks, began });
  const findings = [...checks.flatMap((check) => check.findings), ...remembered];
  const good = without(covered, spansOf(findings));
  const { grade } = dataset.job;
  await remember(context, { dataset, stream, lastWrite, checks, findings, verified: good });
  await saveGrade(database, dataset.name, grade);
  const verified = common(good, await readVerified(database, stream));
  const missing = without([range], covered);
  return { dataset, stream, grade, covered, missing, lastWrite, verified, checks, findings };
}

/** What is certified of a stream, of the moment when it is. */
export function certifiedOf(dataset: Dataset, stream: Stream, jobs: readonly Dataset[]): Certified {
  const tables = ownTablesOf(dataset, jobs).map(([, table]) => table);
  return { stream, tables, isReadTwice: isReadTwice(dataset), grounds: groundsOf(dataset, jobs) };
}

async function remember(
  { database, jobs }: VerifyContext,
  report: Pick<Verified, 'dataset' | 'stream' | 'lastWrite' | 'checks' | 'findings' | 'verified'>,
): Promise<void> {
  const { dataset, stream, lastWrite, checks, findings, verified } = report;
  const bad = spansOf(findings.filter(({ outcome }) => outcome !== 'expired'));
  await setVerified(database, certifiedOf(dataset, stream, jobs), { good: verified, bad, lastWrite });
  await forgetHoles(database, stream, verified);
  await logChecks(database, checks);
}
