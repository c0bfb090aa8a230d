import { formatRange, formatTime, type Range, union, without } from '../../range.ts';
import type { Causes } from '../../verify/causes.ts';
import type { Finding } from '../../verify/finding.ts';
import type { Proof } from '../../verify/prove.ts';
import { isProved, type Verified } from '../../verify/verify.ts';
import { formatTable } from './table.ts';
import { programName } from '../../terminal/program-name.ts';
import { spansOf } from '../../verify/finding.ts';

/** How many ranges of one kind are printed before the rest is only counted. */
const SHOWN = 5;
/** A hash in base64, as keys of rows hold it. */
const HASH = /[A-Za-z0-9+/]{43}=/;

/** What a proof came to, and where. */
interface ProofFacts extends Proof {
  readonly range: Range;
  readonly causes: Causes;
}

/** Prints what each check of each dataset came to, and the verdict as the last line. */
export function printReports(facts: ProofFacts, requests: number): void {
  const { range, reports, causes, compared, isShort } = facts;
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
  for (const { table, compared: rows, stored } of compared)
    console.log(`compared  ${table}: ${rows} of ${stored} rows with the source`);
  const proved = reports.every((report) => isProved(report, range));
  const verdict = `${proved ? 'proved' : 'not proved'}: ${formatRange(range)}, ${requests} requests`;
  const short = isShort ? '; fewer rows were compared than were asked for' : '';
  console.log(`${verdict}${short}${proved ? '' : wrongRow(reports)}`);
}

/** Names one row that is known to be wrong, how many its dataset has, and the command that shows it. */
function wrongRow(reports: readonly Verified[]): string {
  for (const { dataset, findings } of reports) {
    const wrong = findings.filter(({ outcome }) => !['open', 'expired', 'known'].includes(outcome));
    const named = wrong.find(({ rows }) => rows.length > 0);
    const row = named?.rows[0];
    if (row === undefined) continue;
    const table = row.table ?? Object.keys(dataset.job.tables)[0] ?? dataset.name;
    const count = wrong.reduce((sum, finding) => sum + finding.count, 0);
    const others = count > 1 ? `, one of ${count} in ${dataset.name}` : '';
    const differs = row.differs ?? named?.kind ?? '';
    return `; ${table} ${row.key} is wrong (${differs})${others}, see: ${commandFor(row.key)}`;
  }
  return '';
}

function commandFor(key: string): string {
  const hash = HASH.exec(key)?.[0];
  return hash === undefined
    ? `${programName} sql "select * from etl.findings where row_key = '${key}'"`
    : `${programName} why ${hash}`;
}

type ReportEntry = readonly [string, string, number, readonly Finding[], number, number];

/** One line a dataset and check, whatever the number of stretches. */
function sumUp(entries: readonly ReportEntry[]): string[][] {
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
  const moved = without([range], union(report.verified, missing, spansOf(findings)));
  const state = isProved(report, range) ? grade.grade : `not ${grade.grade}`;
  return [
    `${state.padEnd(9)} ${name}: ${isProved(report, range) ? `${grade.proves}; not seen: ${grade.limitations}` : some(report.verified, 'nothing of it is')}`,
    ...missing.slice(0, SHOWN).map((hole) => `missing   ${name}: ${formatRange(hole)} is not covered`),
    ...more('missing', name, missing.length),
    ...causes.map((cause) => `refused   ${name}: ${cause}`),
    ...findings.map(
      ({ check, kind, count, spans, example }) =>
        `${check.padEnd(9)} ${name}: ${count} ${kind} (${example}) in ${some(spans, 'no second')}`,
    ),
    ...(moved.length > 0
      ? [
          `written   ${name}: rows were written while the checks ran, or what they rest on has changed, in ${some(moved, '')}; run the same command again`,
        ]
      : []),
    ...(missing.length > 0
      ? [
          `hint      ${programName} backfill --from ${formatTime(missing[0]?.from ?? 0)} --to ${formatTime(missing.at(-1)?.to ?? 0)} --only ${report.stream.dataset}`,
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

/** What `verify --json` prints. */
export function reportsToJson(facts: ProofFacts, requests: number): object {
  const { range, reports, causes, compared } = facts;
  return {
    range,
    requests,
    compared,
    proved: reports.every((report) => isProved(report, range)),
    datasets: reports.map((report) => ({
      dataset: report.stream.dataset,
      scope: report.stream.scope,
      grade: report.grade.grade,
      proves: report.grade.proves,
      blindTo: report.grade.limitations,
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
