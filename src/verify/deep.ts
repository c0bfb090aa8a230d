import { sql } from 'drizzle-orm';
import { z } from 'zod';
import { listOf } from '../api/v3-envelope.ts';
import { compareRows, type Difference } from '../db/read/compare.ts';
import { setVerified } from '../db/coverage/verifications.ts';
import type { Reading } from '../dataset/job.ts';
import type { Step } from '../dataset/paginator.ts';
import { parseRangeText, type Range, union, without } from '../range.ts';
import type { Checked, Finding } from './finding.ts';
import { logChecks, type Verified } from './verify.ts';
import type { RepairContext } from './repair.ts';

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
  const pages: Range[] = [];
  for (const { from, to } of covered) {
    const rows = await database.rows(
      sql`select distinct (completed * int8range(${from}::int8, ${to}::int8))::text as span from etl.pages
          where dataset = ${stream.dataset} and scope = ${stream.scope} and completed && int8range(${from}::int8, ${to}::int8)`,
      Page,
    );
    pages.push(...rows.map(({ span }) => span));
  }
  const wanted = Math.ceil(pages.length * share);
  const drawn = pages.map((span) => ({ span, lot: random() })).sort((a, b) => a.lot - b.lot);
  return drawn.slice(0, wanted).map(({ span }) => span);
}

interface Read {
  readonly reading: Reading;
  readonly step: Step<unknown>;
}

async function comparePage(
  context: RepairContext,
  { dataset, stream }: Verified,
  span: Range,
): Promise<Checked> {
  const { crawl, clock, database } = context;
  const start = clock.monotonic();
  const { reading, step } = await readPage(context, { dataset, stream }, span);
  const { completed } = step;
  const inside = reading.accepted.filter(
    ({ position }) =>
      completed !== undefined && position.utime >= completed.from && position.utime < completed.to,
  );
  const findings: Finding[] = [];
  for (const [index, [name, table]] of Object.entries(dataset.job.tables).entries()) {
    const rows = inside.flatMap(({ rows: byTable }) => byTable[name] ?? []);
    // Only the dataset's own table holds nothing but what its pages bring.
    const whole = index === 0 && stream.scope === '' ? completed : undefined;
    findings.push(
      ...toFindings(dataset.name, stream.scope, name, await compareRows(database, table, rows, whole)),
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
    requests: 1,
    ms: clock.monotonic() - start,
  };
}

async function readPage(
  { crawl, stop }: RepairContext,
  { dataset, stream }: Pick<Verified, 'dataset' | 'stream'>,
  span: Range,
): Promise<Read> {
  const { job } = dataset;
  const cursor = job.paginator.start(span);
  const paging = job.paginator.request(cursor, job.paginator.maxSize);
  const scope = job.scopes === undefined ? {} : { [job.scopes.param]: stream.scope };
  const { value } = await crawl.api.get({
    path: job.path,
    params: { ...job.params, ...scope, ...paging },
    priority: 'repair',
    signal: stop.leaving,
    parse: (body): Read => {
      const reading = job.read(listOf(job.list)(body));
      return { reading, step: job.paginator.next(cursor, { ...reading, size: paging.limit }) };
    },
  });
  return value;
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
