import type { Clock } from '../clock.ts';
import { streamsOf } from '../crawl/streams/streams.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { readCoverage, type Stream } from '../db/coverage/coverage.ts';
import type { Database, Session } from '../db/connection/database.ts';
import { forgetHoles } from '../db/coverage/holes.ts';
import { foldReceipts } from '../db/write/receipt-ledger.ts';
import { logVerification, saveGrade, setVerified } from '../db/coverage/verifications.ts';
import { common, type Range, union, without } from '../range.ts';
import { runChecks, type Proved } from './checks/checks.ts';
import type { Checked, Finding } from './finding.ts';
import { gradeOf, type GradeFacts } from './grades.ts';
import type { BlockSource } from './block-source.ts';

export interface VerifyContext {
  readonly database: Database;
  readonly source: BlockSource;
  /** All datasets that there are, chosen or not: they share tables. */
  readonly jobs: readonly Dataset[];
  readonly clock: Clock;
}

/** What became of one dataset, or of one pool of it, in a range. */
export interface Verified {
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly grade: GradeFacts;
  readonly covered: readonly Range[];
  readonly missing: readonly Range[];
  /** Seconds that have the dataset's grade now. */
  readonly verified: readonly Range[];
  readonly checks: readonly Checked[];
  readonly findings: readonly Finding[];
}

/** Datasets that others are held against, each after those that it rests on. */
const GROUND = ['blocks', 'transactions', 'traces'];

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
  const proved: Proved = { blocks: [], transactions: [] };
  const reports: Verified[] = [];
  for (const dataset of withGround(datasets, context.jobs)) {
    for (const stream of await streamsOf(context.database, dataset)) {
      const report = await verifyStream(context, dataset, stream, range, proved);
      if (dataset.name === 'blocks') proved.blocks = report.verified;
      if (dataset.name === 'transactions') proved.transactions = report.verified;
      reports.push(report);
    }
  }
  const chosen = new Set(datasets.map(({ name }) => name));
  return reports.filter(({ dataset, covered }) => chosen.has(dataset.name) || covered.length > 0);
}

/** Blocks are the ground of transactions, and these of everything else. */
function withGround(datasets: readonly Dataset[], jobs: readonly Dataset[]): Dataset[] {
  const needed = new Set(datasets.map(({ name }) => name));
  if (datasets.some(({ name }) => name !== 'blocks')) needed.add('blocks');
  if (datasets.some(({ name }) => name !== 'blocks' && name !== 'transactions')) needed.add('transactions');
  const rank = ({ name }: Dataset) => (GROUND.includes(name) ? GROUND.indexOf(name) : GROUND.length);
  return jobs.filter(({ name }) => needed.has(name)).toSorted((a, b) => rank(a) - rank(b));
}

async function verifyStream(
  context: VerifyContext,
  dataset: Dataset,
  stream: Stream,
  range: Range,
  proved: Proved,
): Promise<Verified> {
  const { database } = context;
  const coverage = await readCoverage(database, stream);
  const covered = common(coverage, [range]);
  const checks = await runChecks(context, { dataset, stream, covered, coverage, proved });
  const findings = checks.flatMap((check) => check.findings);
  const verified = without(covered, union(...findings.map(({ spans }) => spans)));
  const grade = gradeOf(dataset);
  await remember(context, dataset, stream, checks, verified);
  await saveGrade(database, dataset.name, grade);
  return { dataset, stream, grade, covered, missing: without([range], covered), verified, checks, findings };
}

async function remember(
  { database }: VerifyContext,
  dataset: Dataset,
  stream: Stream,
  checks: readonly Checked[],
  verified: readonly Range[],
): Promise<void> {
  const findings = checks.flatMap((check) => check.findings);
  const wrong = findings.filter(({ outcome }) => outcome !== 'open').map(({ spans }) => spans);
  await setVerified(database, stream, verified, union(...wrong));
  await forgetHoles(database, stream, verified);
  await logChecks(database, checks);
  for (const table of Object.values(dataset.job.tables)) {
    for (const stretch of verified) await foldReceipts(database, table, stretch);
  }
}

/** One row of the log for each check. */
export async function logChecks(session: Session, checks: readonly Checked[]): Promise<void> {
  for (const check of checks) await logVerification(session, toEntry(check));
}

function toEntry({ check, dataset, scope, span, rows, requests, ms, findings }: Checked) {
  return {
    check,
    dataset,
    scope,
    span,
    rows,
    requests,
    ms,
    found: findings.reduce((sum, { count }) => sum + count, 0),
    holes: union(...findings.map(({ spans }) => spans)),
    detail: findings.map(tellFinding).join('; '),
  };
}

/** `3 missing_transactions, e.g. 0:8000000000000000:17 has 3 of 4` */
export function tellFinding({ count, kind, example }: Finding): string {
  return `${count} ${kind}, e.g. ${example}`;
}
