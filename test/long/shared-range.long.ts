import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { fillRange } from '../../src/crawl/streams/read-leases.ts';
import { datasetsNamed, never, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { startSimulator } from '../support/simulator/simulator.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
const SECONDS = 400;
/** Rows of a page. */
const PAGE = 20;
const Count = z.object({ count: z.coerce.number() });

async function leasesOf({ database }: TestStore): Promise<number> {
  const [row] = await database.rows(sql`select count(*) from etl.leases`, Count);
  return row?.count ?? 0;
}

/**
 * Runs so many crawls on one range at once, each with the budget and readers of a process, and returns what
 * they needed.
 */
async function readTogether(count: number) {
  const after = { from: START + SECONDS, to: START + SECONDS + 600 };
  const network = { start: START, duration: SECONDS + 600, load: { base: 10, dead: [after] }, seed: 11 };
  const [store, simulator] = await Promise.all([
    openTestStore(),
    startSimulator({ ...network, latencyMs: [200, 200] }),
  ]);
  const datasets = (await datasetsNamed('transactions')).map(({ name, job }) => ({
    name,
    job: { ...job, paginator: { ...job.paginator, maxSize: PAGE } },
  }));
  const crawls = await Promise.all(
    Array.from({ length: count }, () => openTestCrawl(store, simulator.url, { config: { rps: 20 } })),
  );
  const took = { leases: 0, target: 0 };
  let looking = Promise.resolve();
  for (const crawl of crawls)
    crawl.subscribe(() => {
      took.target = Math.max(took.target, crawl.context.api.inFlight.target);
      looking = looking.then(async () => {
        took.leases = Math.max(took.leases, await leasesOf(store));
      });
    });
  const readable = { range: { from: START, to: START + SECONDS }, watermark: simulator.headTime };
  const missing = await Promise.all(
    crawls.map((crawl) => fillRange({ ...crawl, datasets, readable, stop: never })),
  );
  expect(missing).toEqual(crawls.map(() => new Map()));
  await looking;
  for (const crawl of crawls) await crawl.close();
  await simulator.close();
  await store.close();
  return took;
}

test('eight that read one range have hardly more readers together than one needs, and all of it is read', async () => {
  const took = await readTogether(8);
  // Each counts the others before it takes a lease; for a moment, several that do so at once may be too many.
  expect(took.leases).toBeLessThanOrEqual(3 * took.target);
});
