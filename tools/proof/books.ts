import { sql } from 'drizzle-orm';
import * as z from 'zod';
import type { Database } from '../../src/postgres/database.ts';
import { writeRows } from '../../test/support/database/write-rows.ts';
import { linesOfRows } from '../../src/write/lines.ts';
import { createPartitions } from '../../src/write/target.ts';
import { formatTable } from '../../src/commands/table.ts';
import { loadJobs } from '../../src/dataset/load-jobs.ts';
import { startSimulator } from '../../test/support/simulator/simulator.ts';
import { books, messageLists, transactionsWithMessages } from '../../src/verify/checks/check-transactions.ts';
import { openTestCrawl } from '../../test/support/crawl.ts';
import type { TestStore } from '../../test/support/database/database.ts';
import { hasCorpus, NO_CORPUS, readCorpus } from '../../test/support/shared-data.ts';
import { openProof } from '../../test/support/verify.ts';
import { startStores } from './stores.ts';

/*
 * Recomputes the balance of every stored transaction from its messages and fees, and compares it with the chain's
 * own. It does so on a simulated network, and on recorded responses if they are next to this checkout.
 */
const Tally = z.object({ kind: z.string(), checked: z.coerce.number(), differing: z.coerce.number() });
const ALWAYS = { from: 0, to: 4_000_000_000 };

const stores = await startStores();
try {
  const simulated = await stores.create();
  await crawlSimulated(simulated);
  await show('simulated network', simulated.database);
  await simulated.close();
  if (!hasCorpus) console.log(`recorded responses: ${NO_CORPUS}`);
  else {
    const recorded = await stores.create();
    await storeRecorded(recorded.database);
    await show('recorded responses', recorded.database);
    await recorded.close();
  }
} finally {
  await stores.stop();
}

async function crawlSimulated(store: TestStore): Promise<void> {
  const simulator = await startSimulator({ seed: 3, duration: 3600, load: 4 });
  const crawl = await openTestCrawl(store, simulator.url);
  const proof = await openProof(store, crawl);
  const datasets = (await loadJobs()).filter(({ name }) => name === 'blocks' || name === 'transactions');
  await proof.cover(datasets, await proof.readable());
  await crawl.close();
  await simulator.close();
}

/** Every transaction of every recording, in whatever record it is, once. */
async function storeRecorded(database: Database): Promise<void> {
  const job = (await loadJobs()).find(({ name }) => name === 'transactions')?.job;
  if (job === undefined) throw new Error('there is no job transactions');
  const found = new Map<string, unknown>();
  for (const transaction of transactionsIn(readCorpus('responses/v3'))) {
    found.set(transaction.hash, transaction);
  }
  const { accepted } = job.read([...found.values()]);
  for (const [name, table] of Object.entries(job.tables)) {
    const rows = accepted.flatMap(({ rows: byTable }) => byTable[name] ?? []);
    const times = new Set(rows.map((row) => (row as { utime: string }).utime));
    await createPartitions(database, 'month').ensure([table], times);
    await database.transaction((session) => writeRows(session, [linesOfRows(table, rows)]));
  }
}

function* transactionsIn(value: unknown): Generator<{ hash: string }> {
  if (typeof value !== 'object' || value === null) return;
  if ('account_state_before' in value && 'total_fees' in value && 'hash' in value)
    yield value as { hash: string };
  for (const member of Object.values(value)) yield* transactionsIn(member);
}

async function show(title: string, database: Database): Promise<void> {
  const tallies = await database.rows(
    sql`
      with ${messageLists(ALWAYS)}, x as materialized (${transactionsWithMessages(ALWAYS)})
      select description_type as kind, count(*) as checked, count(*) filter (where difference <> 0) as differing
      from (${books}) b group by 1 order by 1`,
    Tally,
  );
  const sum = (count: (tally: (typeof tallies)[number]) => number) =>
    String(tallies.reduce((total, tally) => total + count(tally), 0));
  console.log(
    `\n${title}\n${formatTable(
      ['kind', 'balances recomputed', 'differences'],
      [
        ...tallies.map(({ kind, checked, differing }) => [kind, String(checked), String(differing)]),
        ['all', sum(({ checked }) => checked), sum(({ differing }) => differing)],
      ],
    )}`,
  );
  if (tallies.some(({ differing }) => differing > 0)) process.exitCode = 1;
}
