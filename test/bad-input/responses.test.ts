import fc from 'fast-check';
import { sql } from 'drizzle-orm';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { parseJson } from '../../src/api/read-response.ts';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { EtlError } from '../../src/errors.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { withBelievingLimits } from '../support/believing-limits.ts';
import { expectWritable, harm, harmed } from '../support/samples/bad-values.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore } from '../support/database/database.ts';
import { rebuiltStreams } from '../support/rebuild/rebuilt-streams.ts';
import { sampleBlock, sampleTransaction } from '../support/samples/sample-records.ts';
import { sampleAction, sampleTrace } from '../support/samples/sample-streams.ts';
import { runs } from '../support/thorough.ts';

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
          const { accepted, rejected } = job.read(raws);
          expect(accepted.length + rejected.length).toBe(2);
          for (const { path, reason } of rejected) expect(`${path} ${reason}`.length).toBeGreaterThan(3);
          for (const { rows } of accepted) expectWritable(job.tables, rows);
        }),
        { numRuns: runs(150), seed: 5 },
      );
    },
  );
});

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
        start: START,
        duration: 300,
        load: 1,
        accounts: 50,
        after: ({ path }, response) =>
          path === '/api/v3/transactions'
            ? { ...response, body: harmed(response.body.toString(), changes) }
            : response,
      });
      const crawl = await openTestCrawl(store, simulator.url, { maxAttempts: 1 });
      try {
        const readable = { range: SPAN, watermark: SPAN.to + 100_000 };
        const context = withBelievingLimits(crawl.context);
        await fillRange({ ...crawl, context, datasets, readable, stop: never }).catch((error: unknown) => {
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
    { numRuns: runs(20), seed: 11 },
  );
});
