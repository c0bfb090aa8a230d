import type { Dataset } from '../dataset/dataset.ts';
import { ownersOf } from '../tables/describe.ts';
import type { Stream } from '../ledger/stored-coverage.ts';
import {
  readFindings,
  replaceFindings,
  type FindingKind,
  type RightRow,
  DEEP,
  type WrongRow,
} from '../ledger/stored-findings.ts';
import type { Database, Session } from '../postgres/database.ts';
import { targetOf } from '../write/target.ts';
import { common, partsOf, type Range, union, without } from '../range.ts';
import { type Checked, type Finding, spansOf } from './checks/check.ts';

/** Outcomes that say nothing about a row. */
const SILENT: ReadonlySet<Finding['outcome']> = new Set(['open', 'expired', 'follows']);

/** The stream whose findings are stored, and what is needed to store them. */
export interface CheckedStream {
  readonly jobs: readonly Dataset[];
  readonly dataset: Dataset;
  readonly stream: Stream;
  readonly began: string;
}

/**
 * Stores what checks found, row by row, in place of what the same checks found there before. In seconds about which a
 * check could say nothing, earlier findings stay.
 */
export async function keepFindings(
  database: Database,
  run: CheckedStream,
  checks: readonly Checked[],
  right: readonly RightRow[] = [],
): Promise<void> {
  const { stream, began } = run;
  const byCheck = [...new Set(checks.map(({ check }) => check))].map((check) => {
    const same = checks.filter((checked) => checked.check === check);
    const findings = same.flatMap((checked) => checked.findings);
    const silent = spansOf(findings.filter(({ outcome }) => SILENT.has(outcome)));
    return {
      check,
      examined: without(union(...same.map(({ span }) => partsOf(span))), silent),
      rows: findings.flatMap((finding) => rowsOf(run, finding)),
    };
  });
  await replaceFindings(database, { stream, began, checks: byCheck, right });
}

function rowsOf({ jobs, dataset }: CheckedStream, finding: Finding): WrongRow[] {
  if (SILENT.has(finding.outcome) || finding.outcome === 'known') return [];
  const [first = ''] = Object.keys(dataset.job.tables);
  const own = finding.table === undefined ? first : targetOf(finding.table).name;
  const named = finding.rows.map((row): WrongRow => {
    const table = row.table ?? own;
    const differs = row.differs ?? finding.kind;
    return { ...row, table, differs, datasets: holdersOf(table, dataset, jobs) };
  });
  const rest = without(finding.spans, union(finding.rows.map(({ span }) => span)));
  return [
    ...named,
    ...rest.map((span) => ({
      table: own,
      key: '',
      span,
      differs: finding.kind,
      datasets: holdersOf(own, dataset, jobs),
    })),
  ];
}

/** Datasets whose certificates a wrong row affects. Rows that are replaced as a whole affect only their owner. */
function holdersOf(table: string, dataset: Dataset, jobs: readonly Dataset[]): string[] {
  const owners = ownersOf(table, jobs);
  const holders = owners[0]?.job.replacesRows === true ? owners.slice(0, 1) : owners;
  return [...new Set([dataset.name, ...holders.map(({ name }) => name)])];
}

/**
 * Stored findings of a stream that the checks of this run, since they `began`, did not find: those of a deep
 * comparison, and those that reach beyond the checked seconds.
 */
export async function readKeptFindings(
  session: Session,
  stream: Stream,
  covered: readonly Range[],
  { checks, began }: { readonly checks: readonly Checked[]; readonly began?: string },
): Promise<Finding[]> {
  const ran = new Set(checks.map(({ check }) => check));
  const open = await readFindings(session, stream, covered, { checks: ran, since: began });
  return open.map((finding) => toFinding(stream, covered, finding));
}

function toFinding(
  { dataset, scope }: Stream,
  covered: readonly Range[],
  { check, kind, count, spans, rows }: FindingKind,
): Finding {
  const [first] = rows;
  return {
    check,
    dataset,
    scope,
    kind,
    spans: common(spans, covered),
    count,
    example: first === undefined ? kind : `${first.table} ${first.key}: ${first.differs}`,
    // A finding from a check of another dataset is repaired there.
    outcome: check === DEEP ? 'doubt' : 'open',
    rows,
  };
}
