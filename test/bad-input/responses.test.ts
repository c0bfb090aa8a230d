import fc from 'fast-check';
import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { parseJson } from '../../src/api/parse-json.ts';
import { backfill } from '../../src/crawl/backfill.ts';
import { loadJobs } from '../../src/crawl/load-jobs.ts';
import { refuseLateRows } from '../../src/crawl/late-rows.ts';
import { toCopyText } from '../../src/db/copy-text.ts';
import { targetOf } from '../../src/db/insert.ts';
import { EtlError } from '../../src/errors.ts';
import type { Job } from '../../src/job.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore } from '../support/database.ts';
import { rebuiltStreams } from '../support/rebuilt-streams.ts';
import { sampleBlock, sampleTransaction } from '../support/sample-records.ts';
import { sampleAction, sampleTrace } from '../support/sample-streams.ts';

/** JSON texts that a server should not send, and may. */
const VALUES = [
  ...[
    'null',
    'true',
    '""',
    '"\\u0000"',
    '"\\ud83d"',
    '"a\\tb\\nc\\\\."',
    '"\\\\N"',
    '[]',
    '{}',
    '[[{}]]',
    '{"":{"":null}}',
  ],
  ...[
    '0',
    '-1',
    '1e999',
    '-0.0',
    '1.5',
    '4294967296',
    '9007199254740993',
    '170141183460469231731687303715884105728',
  ],
  ...[
    '"9223372036854775808"',
    '"-5"',
    '"1e5"',
    '"٣"',
    '"0x"',
    '"NaN"',
    '"Infinity"',
    '"2026-11-01"',
    `"${'9'.repeat(1500)}"`,
  ],
  `"${'x'.repeat(5000)}"`,
];
/** A scalar that is a member's value; that of a name by which rows are told apart is left alone. */
const SCALAR =
  /(?<!"(?:hash|root_hash|tx_hash|transaction_hash|trace_id|action_id|complaint_hash)"):(?:"(?:[^"\\]|\\.)*"|-?[\d.eE+]+|true|false|null)(?=[,}])/g;

const harm = fc.array(
  fc.tuple(fc.nat(), fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...VALUES) }, fc.json())),
  {
    minLength: 1,
    maxLength: 4,
  },
);

/** The text with some of its scalars replaced. */
function harmed(text: string, changes: readonly (readonly [number, string])[]): string {
  const places = [...text.matchAll(SCALAR)];
  const chosen = new Map(changes.map(([place, value]) => [place % places.length, value]));
  let at = -1;
  return text.replace(SCALAR, (scalar) => {
    at += 1;
    const value = chosen.get(at);
    return value === undefined ? scalar : `:${value}`;
  });
}

const samples: Readonly<Record<string, () => object>> = {
  blocks: sampleBlock,
  transactions: sampleTransaction,
  traces: sampleTrace,
  actions: sampleAction,
  ...Object.fromEntries(rebuiltStreams.map(({ name, sample }) => [name, sample])),
};
const jobs = await loadJobs();
const sampled = jobs.filter(({ name }) => samples[name] !== undefined);

describe('a record with arbitrary values', () => {
  test.each(sampled)(
    'of $name becomes rows or goes to quarantine, whole, and nothing is thrown',
    ({ name, job }) => {
      const text = JSON.stringify(samples[name]?.());
      fc.assert(
        fc.property(harm, (changes) => {
          const raws = [parseJson(harmed(text, changes)), parseJson(text)];
          const { accepted, rejected } = refuseLateRows(job.read(raws), raws);
          expect(accepted.length + rejected.length).toBe(2);
          for (const { path, reason } of rejected) expect(`${path} ${reason}`.length).toBeGreaterThan(3);
          for (const { rows } of accepted) expectWritable(job, rows);
        }),
        { numRuns: 150, seed: 5 },
      );
    },
  );
});

/** Every row has a line of as many values as its table has columns. */
function expectWritable(job: Job, rows: Readonly<Record<string, readonly object[] | undefined>>): void {
  for (const [name, table] of Object.entries(job.tables)) {
    const columns = targetOf(table).stage.columns;
    const own = rows[name] ?? [];
    const lines = [...toCopyText(columns, own as Record<string, unknown>[])]
      .join('')
      .split('\n')
      .slice(0, -1);
    expect(lines).toHaveLength(own.length);
    for (const line of lines) expect(line.split('\t')).toHaveLength(columns.length);
    expect(lines.join('')).not.toContain('\0');
  }
}

const START = Date.UTC(2026, 4, 1) / 1000;
const SPAN = { from: START, to: START + 120 };

test('a page with arbitrary values is committed whole or not at all', async () => {
  const datasets = await datasetsNamed('transactions');
  const truth = await startSimulator({ start: START, duration: 300, load: 1, accounts: 50 });
  const seconds = [...truth.truth.transactions(SPAN)].map(({ now }) => now);
  await truth.close();
  await fc.assert(
    fc.asyncProperty(harm, async (changes) => {
      const store = await openTestStore();
      const simulator = await startSimulator({
        ...{ start: START, duration: 300, load: 1, accounts: 50 },
        after: ({ path }, answer) =>
          path === '/api/v3/transactions'
            ? { ...answer, body: harmed(answer.body.toString(), changes) }
            : answer,
      });
      const crawl = await openTestCrawl(store, simulator.url, { maxAttempts: 1 });
      try {
        const reach = { range: SPAN, watermark: SPAN.to + 100_000 };
        await backfill({ ...crawl, datasets, reach, workers: 1, stop: never }).catch((error: unknown) => {
          expect(error).toBeInstanceOf(EtlError);
        });
        const [row] = await store.database.rows(
          sql`
            select (select count(*) from ton.transactions)::int as stored, (select count(*) from etl.quarantine)::int as quarantined,
              coalesce((select jsonb_agg(jsonb_build_array(lower(r), upper(r))) from etl.coverage, unnest(covered) r), '[]') as covered`,
          z.object({
            stored: z.number(),
            quarantined: z.number(),
            covered: z.array(z.tuple([z.number(), z.number()])),
          }),
        );
        const expected = seconds.filter((second) =>
          row?.covered.some(([from, to]) => second >= from && second < to),
        ).length;
        expect((row?.stored ?? 0) + (row?.quarantined ?? 0)).toBe(expected);
      } finally {
        await crawl.close();
        await simulator.close();
        await store.close();
      }
    }),
    { numRuns: 12, seed: 11 },
  );
}, 90_000);
