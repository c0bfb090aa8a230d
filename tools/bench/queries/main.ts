import pg from 'pg';
import { openDatabase } from '../../../src/postgres/database.ts';
import { openEmbedded } from '../../../src/embedded/embedded.ts';
import { migrate } from '../../../src/migrate/migrate.ts';
import { readPlan } from './plan.ts';
import { QUESTIONS, VALUES, type Question } from './questions.ts';
import { fillTwoYears } from './two-years.ts';

/*
 * `npm run bench -- queries`: how fast an analyst's questions are answered, with two years in monthly
 * partitions. Exits 1 if an answer is too slow, or if a stream table is read from end to end although an
 * index or a partition would do.
 *
 *   --transactions 5000000   how many, default 5 million
 *   --data DIR               the database's directory; a second call asks its rows, or continues filling
 *   --seconds 280            how long to fill before stopping, to be called again; default forever
 *   --plans                  print every plan whole
 */

const ROUNDS = 5;

function option(name: string, otherwise: string): string {
  const index = process.argv.indexOf(`--${name}`);
  return index === -1 ? otherwise : (process.argv[index + 1] ?? otherwise);
}

const transactions = Number(option('transactions', '5000000'));
const seconds = Number(option('seconds', 'Infinity'));
const deadline = performance.now() + seconds * 1000;
const server = await openEmbedded({
  dataDir: option('data', `/tmp/toncenter-etl-bench-queries-${transactions}`),
  // Only reading is measured, so only the settings for reads must be those of users.
  settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' },
});
try {
  const database = await openDatabase({ url: server.url, applicationName: 'bench' });
  await migrate(database);
  await database.close();
  const filled = await fillTwoYears(server.url, transactions, deadline);
  if (filled) process.exitCode = (await askAll(server.url)) ? 0 : 1;
  else console.log(JSON.stringify({ measure: 'queries', filled, next: 'call it again to go on' }));
} finally {
  await server.close();
}

async function askAll(url: string): Promise<boolean> {
  const client = new pg.Client({
    connectionString: url,
    options: '-c search_path=ton,etl,public -c timezone=UTC',
  });
  await client.connect();
  try {
    await tellSize(client);
    const values = await readValues(client);
    let good = true;
    for (const question of QUESTIONS) good = (await ask(client, question, values)) && good;
    return good;
  } finally {
    await client.end();
  }
}

async function tellSize(client: pg.Client): Promise<void> {
  const { rows } = await client.query<Record<string, string>>(
    `select (select count(*) from transactions) as transactions, (select count(*) from messages) as messages,
       (select count(*) from etl.partitions where parent = 'transactions') as partitions,
       pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  console.log(JSON.stringify({ measure: 'queries', ...rows[0] }));
}

async function readValues(client: pg.Client): Promise<ReadonlyMap<string, string>> {
  const values = new Map<string, string>();
  for (const [name, text] of Object.entries(VALUES)) {
    const { rows } = await client.query<Record<string, string>>(text);
    const [value] = Object.values(rows[0] ?? {});
    if (value !== undefined) values.set(name, value);
  }
  return values;
}

/** The median of some answers after two that fill the caches, planning included: as long as an analyst waits. */
async function ask(
  client: pg.Client,
  question: Question,
  values: ReadonlyMap<string, string>,
): Promise<boolean> {
  const { name, aim, month } = question;
  const missing = [...question.sql.matchAll(/:([a-z]+)\b/g)].filter(([, value = '']) => !values.has(value));
  if (missing.length > 0) {
    console.log(
      JSON.stringify({ question: name, good: false, reason: 'no such rows: take more transactions' }),
    );
    return false;
  }
  const text = question.sql.replaceAll(/:([a-z]+)\b/g, (_, value: string) =>
    pg.escapeLiteral(values.get(value) ?? ''),
  );
  const { answers, first, median } = await measure(client, text);
  const { rows } = await client.query<Record<string, unknown>>(
    `explain (analyze, verbose, format json) ${text}`,
  );
  const plan = readPlan(rows[0]?.['QUERY PLAN']);
  // A question about a month may read the month's partitions whole, and no others.
  const scans = plan.scanned.filter((partition) => month !== true || !partition.endsWith('_2025_06_01'));
  const good = median <= aim && scans.length === 0 && answers > 0;
  console.log(
    JSON.stringify({
      question: name,
      ms: Number(median.toFixed(1)),
      first: Number(first.toFixed(1)),
      aim,
      rows: answers,
      planning: plan.planning,
      good,
      partitions: plan.read.length,
      ...(scans.length > 0 && { scannedWhole: scans }),
      plan: process.argv.includes('--plans') || !good ? plan.read : shorten(plan.read),
    }),
  );
  return good;
}

interface Measured {
  /** Rows of the last answer. */
  readonly answers: number;
  /** Milliseconds of the first answer, and the median of those after the second. */
  readonly first: number;
  readonly median: number;
}

async function measure(client: pg.Client, text: string): Promise<Measured> {
  const times: number[] = [];
  let answers = 0;
  for (let round = 0; round < ROUNDS + 2; round += 1) {
    const start = performance.now();
    answers = (await client.query(text)).rowCount ?? 0;
    times.push(performance.now() - start);
  }
  const warm = times.slice(2).sort((a, b) => a - b);
  return { answers, first: times[0] ?? NaN, median: warm[Math.floor(ROUNDS / 2)] ?? NaN };
}

/** How partitions were read, each way once. */
function shorten(read: readonly string[]): string[] {
  return [...new Set(read.map((line) => line.replace(/_\d{4}_\d\d_\d\d$/, '')))];
}
