import type pg from 'pg';
import { loadTables } from '../../../src/db/load-tables.ts';
import { createPartitions } from '../../../src/db/write/partitions.ts';
import { describeTable } from '../../../src/db/read/table-description.ts';
import { DAY, formatTime } from '../../../src/range.ts';
import { SPAN } from '../network.ts';
import { monthsOf, startServer } from '../store.ts';

/** Rows of a day in each report: those by jetton and account have as many as a busy network. */
const ROWS: Readonly<Record<string, number>> = {
  daily_activity: 1,
  hourly_activity: 24,
  active_wallets: 1,
  fees_by_part: 1,
  failed_transactions: 40,
  message_delays: 40,
  jetton_flows: 500,
  dex_volume: 200,
};

const DAYS = 365;
const ROUNDS = 5;

/** How soon a year of each report by day is there, and up to when it is certified; its days are closed but for the last. */
export async function measureYear(
  tell: (measure: string, values: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const server = await startServer();
  try {
    const store = await server.create('year');
    const year = { from: SPAN.from, to: SPAN.from + DAYS * DAY };
    const tables = (await loadTables()).filter((table) => describeTable(table).partitioned);
    await createPartitions(store.database, 'month').ensure(tables, monthsOf(year));
    for (const report of Object.keys(ROWS)) await fill(store.client, report, year.from);
    await store.client.query('vacuum (analyze) etl.closed_days, etl.kept_rows');
    const [from, to] = [year.from, year.to].map((second) => formatTime(second).slice(0, 10));
    for (const report of Object.keys(ROWS)) {
      const whole = `select * from ton.${report} where day >= '${from}' and day < '${to}'`;
      const mark = `select max(day)::text as day from ton.${report} where certified and day >= '${from}' and day < '${to}'`;
      const { rows } = await store.client.query<{ day: string }>(mark);
      const answer = await medianOf(store.client, whole);
      const marked = await medianOf(store.client, mark);
      const milliseconds = { ms: answer.ms, msOfMark: marked.ms, aim: 1000 };
      tell(`a year of ${report}`, { rows: answer.rows, ...milliseconds, certifiedTo: rows[0]?.day });
    }
    await store.close();
  } finally {
    await server.stop();
  }
}

/** What of a value of each type stands in a row that is kept. */
const VALUE = `case when format_type(a.atttypid, null) in ('text') then to_jsonb(repeat(md5(n::text), 2))
  when format_type(a.atttypid, null) like 'timestamp%' then to_jsonb(now())
  when format_type(a.atttypid, null) = 'boolean' then to_jsonb(true)
  else to_jsonb(n * 1000003 % 1000000) end`;

async function fill(client: pg.Client, report: string, from: number): Promise<void> {
  const days = `generate_series(0, ${DAYS - 2}) d`;
  const day = `(to_timestamp(${from}) at time zone 'UTC')::date + d`;
  await client.query(
    `insert into etl.closed_days (relation, day, definition, closed_at)
     select '${report}', ${day}, md5(pg_get_viewdef('etl.open_${report}'::regclass)), now() from ${days}`,
  );
  await client.query(
    `insert into etl.kept_rows (relation, day, place, row)
     select '${report}', ${day}, n, (
       select jsonb_object_agg(a.attname, ${VALUE}) from pg_attribute a
       where a.attrelid = 'etl.open_${report}'::regclass and a.attnum > 1 and not a.attisdropped)
     from ${days}, generate_series(1, ${ROWS[report] ?? 1}) n`,
  );
}

/** Milliseconds of the median answer, planning included. */
async function medianOf(
  client: pg.Client,
  text: string,
): Promise<{ readonly rows: number; readonly ms: number }> {
  const times: number[] = [];
  let rows = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    rows = (await client.query(text)).rowCount ?? 0;
    times.push(performance.now() - start);
  }
  return { rows, ms: times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN };
}
