import type { Command } from 'commander';
import { openCrawl } from '../app/open-crawl.ts';
import { chooseDatasets, splitKinds } from '../dataset/dataset.ts';
import { loadDatasets } from '../dataset/load-jobs.ts';
import { EXIT, type ExitCode, IncompleteError, isAbort, UsageError } from '../errors.ts';
import { tablesOf } from '../export/write-rows.ts';
import { withExistingLake } from '../lake/open-lake.ts';
import { verifyLake } from '../lake/verify-lake.ts';
import type { Session } from '../postgres/database.ts';
import { common, formatRange, formatTime, type Range, union, without } from '../range.ts';
import { commandLine } from '../terminal/program-name.ts';
import { readAllRefused } from '../ledger/stored-coverage.ts';
import { spansOf } from '../verify/checks/check.ts';
import { type Proof, proveRange } from '../verify/prove.ts';
import { createRepairContext } from '../verify/repair.ts';
import { isWhollyVerified, type Verified } from '../verify/verify.ts';
import { datasetList, examples, parseEnds, TIMES } from './option-words.ts';
import { closeAfter, type Invocation, runCommand, withSource, withStop } from './run-command.ts';
import { formatTable } from './table.ts';

export function defineVerify(command: Command): void {
  command
    .option('--from <time>', 'first second of the range, UTC')
    .option('--to <time>', 'end of the range, exclusive')
    .option('--lake <location>', 'recount a lake that `export` wrote instead, from its parts alone')
    .option('--only <datasets>', 'these datasets instead of ETL_DATASETS, separated by commas', datasetList)
    .option('--deep <share>', 'also read this share of the pages again and compare every value, e.g. 1%')
    .option('--repair', 'read again what is missing or wrong, and verify again')
    .option('--record <dir>', 'keep every response of the API there, for `simulate --corpus <dir>`')
    .option('--json', 'for programs')
    .addHelpText(
      'after',
      `
${TIMES}
${examples(
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02',
  'toncenter-etl verify --from 2026-11-01 --to 2026-11-02 --repair',
  'toncenter-etl verify --from 2026-11 --to 2026-12 --deep 1% --json',
  'toncenter-etl verify --lake ./november',
)}`,
    )
    .action(({ lake, ...flags }: VerifyFlags & { readonly lake?: string }) =>
      runCommand(async (invocation) =>
        lake === undefined ? verify(invocation, flags) : verifyOfLake(invocation, lake),
      ),
    );
}

const STOPPED =
  'verification stopped: datasets whose checks have not all run keep their certificates, unless these depend on one that was withdrawn';
const AGAIN = { hint: 'Run the same command again.' };

/** `verify --from … --to …`: proves what is stored, and with `--repair` reads again what is missing or wrong. */
export async function verify(invocation: Invocation, flags: VerifyFlags): Promise<ExitCode> {
  const { jobs, datasets, range, share } = await parseVerify(invocation, flags);
  const needs = { isRepeatable: true, applicationName: 'toncenter-etl verify' } as const;
  return withSource(invocation, needs, async (opened) => {
    const { store, stop } = opened;
    return closeAfter(await openCrawl({ ...invocation, ...opened, record: flags.record }), async (crawl) => {
      const watermark = crawl.chain.last.utime;
      const context = createRepairContext(crawl, {
        jobs,
        stop,
        watermark,
        leastPauseSeconds: 0,
        ignorePauses: true,
      });
      const options = { datasets, range, share, repair: flags.repair === true, random: Math.random };
      const proof = await proveRange(context, options).catch((error: unknown) => {
        throw stop.finishing.aborted && isAbort(error) ? new IncompleteError(STOPPED, AGAIN) : error;
      });
      const { reports } = proof;
      const facts = { range, ...proof, causes: await causesOf(store.database, reports) };
      const { requests } = crawl.context.api.stats;
      if (flags.json === true) console.log(JSON.stringify(reportsToJson(facts, requests), null, 2));
      else printReports(facts, requests);
      const isDone = !proof.isShort && reports.every((report) => isWhollyVerified(report, range));
      return isDone ? EXIT.done : EXIT.incomplete;
    });
  });
}

/** `verify --lake LAKE`: recounts a lake from its parts alone, without a database. */
export async function verifyOfLake({ logger }: Invocation, location: string): Promise<ExitCode> {
  const available = await loadDatasets();
  const tables = new Map(tablesOf(available, available).map((table) => [table.facts.name, table]));
  return withStop(logger, (stop) =>
    withExistingLake({ location, signal: stop.leaving }, async (lake) => {
      const counts = { tables: 0, parts: 0, rows: 0, faults: 0 };
      const isWhole = await verifyLake({
        lake,
        tables,
        stop,
        onTable: ({ parts }) => {
          counts.tables += 1;
          counts.parts += parts.length;
          counts.rows += parts.reduce((sum, { rows }) => sum + rows, 0);
        },
        onFault: ({ of, what }) => {
          counts.faults += 1;
          console.log(`${of} ${what}`);
        },
      });
      const { faults, parts, rows } = counts;
      console.error(`${counts.tables} tables, ${parts} parts, ${rows} rows: ${faults} faults`);
      return isWhole && faults === 0 && parts > 0 ? EXIT.done : EXIT.incomplete;
    }),
  );
}

interface VerifyFlags {
  readonly from?: string;
  readonly to?: string;
  readonly only?: readonly string[];
  /** A share such as `1%`. */
  readonly deep?: string;
  readonly repair?: boolean;
  readonly json?: boolean;
  readonly record?: string;
}

/** @throws UsageError if the range or the share cannot be parsed */
async function parseVerify({ config, now }: Invocation, flags: VerifyFlags) {
  const range = parseEnds(flags, now, { otherwise: 'A lake needs none: `verify --lake`.' });
  const share = flags.deep === undefined ? 0 : parseShare(flags.deep);
  const all = await loadDatasets();
  // Collections have no range of time, so there is nothing to prove.
  const datasets = splitKinds(chooseDatasets(flags.only ?? config.datasets, all)).streams;
  return { range, share, jobs: splitKinds(all).streams, datasets };
}

function parseShare(text: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*%$/.exec(text.trim());
  const share = Number(match?.[1]) / 100;
  if (share > 0 && share <= 1) return share;
  throw new UsageError(`--deep "${text}" is not a share: write it like 1% or 0.1%`);
}

/** Ranges of one kind that are printed before the rest is only counted. */
const SHOWN = 5;
/** A hash in base64, as in keys of rows. */
const HASH = /[A-Za-z0-9+/]{43}=/;

interface ProofFacts extends Proof {
  readonly range: Range;
  readonly causes: Causes;
}

/** Prints the result of each check of each dataset, and the verdict as the last line. */
export function printReports(facts: ProofFacts, requests: number): void {
  const { range, reports, causes, compared, isShort } = facts;
  console.log(`range     ${formatRange(range)} (UTC, end exclusive)`);
  console.log(formatTable(['dataset', 'check', 'rows', 'findings', 'requests', 'ms'], sumUp(reports)));
  for (const report of reports)
    for (const line of linesOf(report, range, causes.get(report) ?? [])) console.log(line);
  for (const { table, compared: rows, stored } of compared)
    console.log(`compared  ${table}: ${rows} of ${stored} rows with the source`);
  const proved = reports.every((report) => isWhollyVerified(report, range));
  const verdict = `${proved ? 'proved' : 'not proved'}: ${formatRange(range)}, ${requests} requests`;
  const short = isShort ? '; fewer rows were compared than were asked for' : '';
  console.log(`${verdict}${short}${proved ? '' : wrongRow(reports)}`);
}

/** Names one wrong row, the number of wrong rows in its dataset, and the command that shows it. */
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
    ? commandLine(`sql "select * from etl.findings where row_key = '${key}'"`)
    : commandLine(`why ${hash}`);
}

/** One line for each dataset and check, over all ranges. */
function sumUp(reports: readonly Verified[]): string[][] {
  const lines = new Map<string, { readonly title: readonly string[]; readonly sums: readonly number[] }>();
  for (const report of reports)
    for (const { check, rows, findings, requests, ms } of report.checks) {
      const title = [nameOf(report), check];
      const own = [rows, findings.reduce((sum, { count }) => sum + count, 0), requests, ms];
      const before = lines.get(title.join(' '))?.sums ?? [0, 0, 0, 0];
      lines.set(title.join(' '), { title, sums: before.map((sum, at) => sum + (own[at] ?? 0)) });
    }
  return [...lines.values()].map(({ title, sums }) => [
    ...title,
    ...sums.map((sum) => String(Math.round(sum))),
  ]);
}

function nameOf({ stream }: Verified): string {
  return stream.scope === '' ? stream.dataset : `${stream.dataset} ${stream.scope}`;
}

/** Why seconds of each report are not covered, if known. */
type Causes = ReadonlyMap<Verified, readonly string[]>;

async function causesOf(session: Session, reports: readonly Verified[]): Promise<Causes> {
  const refused = await readAllRefused(session);
  const causes = ({ stream, missing }: Verified) =>
    refused
      .filter(({ dataset, scope }) => dataset === stream.dataset && scope === stream.scope)
      .filter(({ span }) => common(span, missing).length > 0)
      .map(({ span, reason, detail }) => `${span.map(formatRange).join()}: ${reason}, ${detail}`);
  return new Map(reports.map((report) => [report, causes(report)]));
}

function linesOf(report: Verified, range: Range, causes: readonly string[]): string[] {
  const name = nameOf(report);
  const { grade, findings, missing } = report;
  const moved = without([range], union(report.verified, missing, spansOf(findings)));
  const isWhole = isWhollyVerified(report, range);
  const state = isWhole ? grade.grade : `not ${grade.grade}`;
  const proved = report.verified.length === 0 ? 'nothing' : `only ${some(report.verified, '')}`;
  return [
    `${state.padEnd(9)} ${name}: ${isWhole ? `${grade.proves}; not seen: ${grade.limitations}` : `${proved} is ${grade.grade}`}`,
    ...missing.slice(0, SHOWN).map((hole) => `missing   ${name}: ${formatRange(hole)} is not covered`),
    ...more('missing', name, missing.length),
    ...causes.map((cause) => `refused   ${name}: ${cause}`),
    ...findings.map(
      ({ check, kind, count, spans, example }) =>
        `${check.padEnd(9)} ${name}: ${count} ${kind} (${example}) in ${some(spans, 'no second')}`,
    ),
    ...(moved.length > 0
      ? [
          `written   ${name}: rows were written while the checks ran, or rows that they depend on have changed, in ${some(moved, '')}; run the same command again`,
        ]
      : []),
    ...(missing.length > 0
      ? [
          `hint      ${commandLine(`backfill --from ${formatTime(missing[0]?.from ?? 0)} --to ${formatTime(missing.at(-1)?.to ?? 0)} --only ${report.stream.dataset}`)}`,
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
function reportsToJson(facts: ProofFacts, requests: number): object {
  const { range, reports, causes, compared } = facts;
  return {
    range,
    requests,
    compared,
    proved: reports.every((report) => isWhollyVerified(report, range)),
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
