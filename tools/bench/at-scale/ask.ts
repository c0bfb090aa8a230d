import pg from 'pg';
import { withLake, openLakeReader } from '../../../src/lake/open-lake.ts';
import { QUESTIONS, VALUES } from '../queries/questions.ts';
import type { Asked } from './asked.ts';

/** Asks a database or a lake the questions of analysts, and prints how long each answer took, as lines of JSON. */
const order = JSON.parse(process.argv[2] ?? '') as Asked;

type Ask = (statement: string) => Promise<readonly (readonly (string | null)[])[]>;

if ('lake' in order)
  await withLake(order.lake, async ({ engine }) => {
    const reader = await openLakeReader(engine, order.lake);
    await askAll(async (statement) => (await reader(statement)).rows);
  });
else {
  const client = new pg.Client({
    connectionString: order.database,
    options: '-c search_path=ton,etl,public -c timezone=UTC',
  });
  await client.connect();
  await askAll(async (text) => (await client.query<(string | null)[]>({ text, rowMode: 'array' })).rows);
  await client.end();
}

async function askAll(ask: Ask): Promise<void> {
  const values = new Map<string, string>();
  for (const [name, text] of Object.entries(VALUES)) {
    const [[value] = []] = await ask(timed(text));
    values.set(name, value ?? '');
  }
  for (const { name, sql } of QUESTIONS) {
    const text = timed(sql).replaceAll(/:([a-z]+)\b/g, (all, value: string) =>
      values.has(value) ? pg.escapeLiteral(values.get(value) ?? '') : all,
    );
    const start = performance.now();
    const rows = await ask(text);
    const seconds = (performance.now() - start) / 1000;
    console.log(JSON.stringify({ name, rows: rows.length, seconds: Number(seconds.toPrecision(3)) }));
  }
}

/** Replaces the day and the month of the questions by the requested ones; times get the seconds that DuckDB wants. */
function timed(sql: string): string {
  return sql
    .replaceAll('2025-06-14', order.day)
    .replaceAll('2025-06-15', order.next)
    .replaceAll('2025-06-01', order.from)
    .replaceAll('2025-07-01', order.to)
    .replaceAll(
      /'(\d{4}-\d\d-\d\d)( \d\d:\d\d)?Z'/g,
      (_, day: string, time = ' 00:00') => `'${day}${time}:00Z'`,
    );
}
