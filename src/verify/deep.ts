import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { askPage } from '../crawl/streams/ask-page.ts';
import { compareRows, type Difference } from '../db/read/compare.ts';
import { setVerified } from '../db/coverage/verifications.ts';
import type { Reading } from '../dataset/job.ts';
import { parseRangeText, type Range, union, without } from '../range.ts';
import type { Checked, Finding } from './finding.ts';
import { logChecks, type Verified } from './verify.ts';
import type { RepairContext } from './repair.ts';
import { rangeParam } from '../db/connection/sql.ts';
import { pages } from '../db/schema/pages.ts';

const CHECK = 'deep';

/**
 * Reads a random share of the pages again and compares every value that cannot change: sees what no checksum speaks of.
 * At least one page of each dataset. Datasets whose rows are exchanged change by nature, and are passed over.
 */
export async function checkDeep(
  context: RepairContext,
  reports: readonly Verified[],
  share: number,
  random: () => number,
): Promise<Verified[]> {
  const checked: Verified[] = [];
  for (const report of reports) {
    const pages = report.dataset.job.replacesRows ? [] : await samplePages(context, report, share, random);
    const checks: Checked[] = [];
    for (const page of pages) checks.push(await comparePage(context, report, page));
    await logChecks(context.database, checks);
    const findings = checks.flatMap((check) => check.findings);
    const wrong = union(...findings.map(({ spans }) => spans));
    await setVerified(context.database, report.stream, [], wrong);
    checked.push({
      ...report,
      checks: [...report.checks, ...checks],
      findings: [...report.findings, ...findings],
      verified: without(report.verified, wrong),
    });
  }
  return checked;
}

const Page = z.object({
  span: z.string().transform((text) => parseRangeText(text)[0] ?? { from: 0, to: 0 }),
});

/** Ranges that single pages completed, picked at random. */
async function samplePages(
  { database }: RepairContext,
  { stream, covered }: Verified,
  share: number,
  random: () => number,
): Promise<Range[]> {
  const completed: Range[] = [];
  for (const { from, to } of covered) {
    const rows = await database.rows(
      sql`select distinct (${pages.completed} * ${rangeParam({ from, to })})::text as span from ${pages}
          where ${pages.dataset} = ${stream.dataset} and ${pages.scope} = ${stream.scope}
            and ${pages.completed} && ${rangeParam({ from, to })}`,
      Page,
    );
    completed.push(...rows.map(({ span }) => span));
  }
  const wanted = Math.ceil(completed.length * share);
  const drawn = completed.map((span) => ({ span, lot: random() })).sort((a, b) => a.lot - b.lot);
  return drawn.slice(0, wanted).map(({ span }) => span);
}

interface SpanRead {
  readonly accepted: Reading['accepted'];
  /** What of the span the source gave whole: all of it, unless a second of it is saturated. */
  readonly completed: readonly Range[];
  readonly requests: number;
}

async function comparePage(
  context: RepairContext,
  { dataset, stream }: Verified,
  span: Range,
): Promise<Checked> {
  const { crawl, clock, database } = context;
  const start = clock.monotonic();
  const { accepted, completed, requests } = await readSpan(context, { dataset, stream }, span);
  const inside = accepted.filter(({ position: { utime } }) =>
    completed.some(({ from, to }) => utime >= from && utime < to),
  );
  const whole = completed.length === 1 ? completed[0] : undefined;
  const findings: Finding[] = [];
  for (const [index, [name, table]] of Object.entries(dataset.job.tables).entries()) {
    const rows = inside.flatMap(({ rows: byTable }) => byTable[name] ?? []);
    // Only the dataset's own table holds nothing but what its pages bring.
    const allOf = index === 0 && stream.scope === '' ? whole : undefined;
    findings.push(
      ...toFindings(dataset.name, stream.scope, name, await compareRows(database, table, rows, allOf)),
    );
  }
  crawl.logger.debug({ dataset: dataset.name, records: inside.length }, 'page compared');
  return {
    check: CHECK,
    dataset: dataset.name,
    scope: stream.scope,
    span,
    findings,
    rows: inside.length,
    requests,
    ms: clock.monotonic() - start,
  };
}

/** Asks for a page's span until it is whole: what was one page may by now be several. */
async function readSpan(
  { crawl, stop }: RepairContext,
  { dataset, stream }: Pick<Verified, 'dataset' | 'stream'>,
  span: Range,
): Promise<SpanRead> {
  const { paginator } = dataset.job;
  const { limits } = crawl.tuning(dataset);
  const size = limits.limit(paginator.maxSize);
  const trust = limits.openSpan();
  const accepted: Reading['accepted'][number][] = [];
  const completed: Range[] = [];
  let requests = 0;
  for (let cursor: unknown = paginator.start(span); cursor !== undefined; requests += 1) {
    const signal = stop.leaving;
    const page = await askPage(crawl.api, { dataset, stream, cursor, size, trust, priority: 'repair', signal });
    const { reading, step } = page.value;
    accepted.push(...reading.accepted);
    if (step.completed !== undefined) completed.push(step.completed);
    cursor = step.cursor;
  }
  return { accepted, completed: union(completed), requests };
}

function toFindings(
  dataset: string,
  scope: string,
  table: string,
  differences: readonly Difference[],
): Finding[] {
  const kinds = new Set(differences.map(({ kind }) => kind));
  return [...kinds].map((kind): Finding => {
    const same = differences.filter((difference) => difference.kind === kind);
    return {
      check: CHECK,
      dataset,
      scope,
      kind: `${kind}_in_${table}`,
      count: same.length,
      spans: union(same.map(({ second }) => second)),
      example: same[0]?.row ?? '',
      outcome: kind === 'missing' ? 'hole' : 'doubt',
    };
  });
}
