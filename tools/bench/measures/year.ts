import type pg from 'pg';
import { loadTables } from '../../../src/postgres/load-tables.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { describeTable } from '../../../src/read/table-rows.ts';
import { DAY, formatTime } from '../../../src/range.ts';
import { SPAN } from '../network.ts';
import { monthsOf, startServer } from '../store.ts';

interface Report {
  /** Rows of a day: reports by jetton and account have as many as a busy network. */
  readonly rows: number;
  /** The question about a whole year. */
  readonly question: string;
  /** The view that answers it if that is not the report, and the one thing that is asked about. */
  readonly by?: { readonly view: string; readonly where: string };
}

const months = (sums: string) => `date_trunc('month', day), ${sums}`;

/** The account or asset of the first row of each day. */
const FIRST = `repeat(md5('1'), 2)`;

const REPORTS: Readonly<Record<string, Report>> = {
  daily_activity: { rows: 1, question: months('sum(transactions), sum(fees)') },
  hourly_activity: { rows: 24, question: months('sum(transactions), sum(fees)') },
  active_wallets: { rows: 1, question: months('max(wallets)') },
  fees_by_part: { rows: 1, question: months('sum(gas), sum(total)') },
  failed_transactions: { rows: 40, question: 'phase, sum(transactions)' },
  message_delays: { rows: 40, question: 'from_shard, sum(messages), max(longest_seconds)' },
  jetton_flows: { rows: 500, question: 'jetton_master, sum(transfers), sum(amount)' },
  dex_volume: { rows: 200, question: 'pool, sum(swaps), sum(volume)' },
  daily_changes: {
    rows: 1000,
    question: months('max(balance_raw)'),
    by: { view: 'daily_balances', where: `account = ${FIRST}` },
  },
  daily_trades: {
    rows: 100,
    question: months('max(trades)'),
    by: { view: 'daily_prices', where: `asset = ${FIRST}` },
  },
  hourly_trades: {
    rows: 2400,
    question: months('max(trades)'),
    by: { view: 'hourly_prices', where: `asset = ${FIRST}` },
  },
};

const DAYS = 365;
const ROUNDS = 5;
const AS_TEXT = { rowMode: 'array' as const, types: { getTypeParser: () => String } };

/**
 * How fast a year of each report by day is read, and up to when it is certified; all of its days are closed
 * except the last.
 */
export async function measureYear(
  tell: (measure: string, values: Readonly<Record<string, unknown>>) => void,
): Promise<void> {
  const server = await startServer();
  const store = await server.create('year');
  try {
    const whole = { from: SPAN.from, to: SPAN.from + DAYS * DAY };
    const tables = (await loadTables()).filter((table) => describeTable(table).partitioned);
    await createPartitions(store.database, 'month').ensure(tables, monthsOf(whole));
    for (const [report, { rows }] of Object.entries(REPORTS))
      await fill(store.client, { report, rows, from: whole.from });
    const kept = Object.keys(REPORTS).map((report) => `etl.kept_${report}`);
    await store.client.query(`vacuum (analyze) etl.closed_days, ${kept.join(', ')}`);
    const [from, to] = [whole.from, whole.to].map((second) => formatTime(second).slice(0, 10));
    for (const [report, { question, by }] of Object.entries(REPORTS)) {
      const year = `day >= '${from}' and day < '${to}'`;
      const days = `from ton.${by?.view ?? report} where ${by?.where ?? true} and ${year}`;
      const mark = `select max(day)::text as day from ton.${report} where ${year} and certified`;
      const { rows } = await store.client.query<{ day: string }>(mark);
      const asked = await medianOf(store.client, `select ${question} ${days} group by 1 order by 2 desc`);
      const answer = await medianOf(store.client, `select * ${days}`);
      const marked = await medianOf(store.client, mark);
      const milliseconds = { ms: asked.ms, msOfAllRows: answer.ms, msOfMark: marked.ms, aim: 1000 };
      tell(`a year of ${by?.view ?? report}`, {
        rows: answer.rows,
        ...milliseconds,
        certifiedTo: rows[0]?.day,
      });
    }
    const { rows: sizes } = await store.client.query<{ bytes: number }>(
      `select sum(pg_total_relation_size(r))::float8 as bytes from unnest($1::regclass[]) r`,
      [kept],
    );
    tell('a year of closed days', { megabytes: (sizes[0]?.bytes ?? NaN) / 1e6 });
  } finally {
    await store.close();
    await server.stop();
  }
}

/** The part of a closed row that depends on a value of each type. */
const VALUE = `case when format_type(a.atttypid, null) in ('text') then to_jsonb(repeat(md5(n::text), 2))
  when format_type(a.atttypid, null) like 'timestamp%' then to_jsonb(now())
  when format_type(a.atttypid, null) = 'boolean' then to_jsonb(true)
  else to_jsonb(n::int8 * 1000003 % 1000000) end`;

async function fill(
  client: pg.Client,
  { report, rows, from }: { report: string; rows: number; from: number },
): Promise<void> {
  const days = `generate_series(0, ${DAYS - 2}) d`;
  const day = `(to_timestamp(${from}) at time zone 'UTC')::date + d`;
  await client.query(
    `insert into etl.closed_days (relation, day, definition, closed_at)
     select '${report}', ${day}, md5(pg_get_viewdef('etl.open_${report}'::regclass)), now() from ${days}`,
  );
  await client.query(
    `insert into etl.kept_${report}
     select (jsonb_populate_record(null::etl.kept_${report}, jsonb_build_object('day', ${day}, 'position', n) || row)).*
     from ${days}, generate_series(1, ${rows}) n, lateral (
       select jsonb_object_agg(a.attname, ${VALUE}) as row from pg_attribute a
       where a.attrelid = 'etl.open_${report}'::regclass and a.attnum > 1 and not a.attisdropped) r`,
  );
}

/** Milliseconds of the median answer, planning included. Rows are read as text, as `sql` reads them. */
async function medianOf(
  client: pg.Client,
  text: string,
): Promise<{ readonly rows: number; readonly ms: number }> {
  const times: number[] = [];
  let rows = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = performance.now();
    rows = (await client.query({ text, ...AS_TEXT })).rowCount ?? 0;
    times.push(performance.now() - start);
  }
  return { rows, ms: times.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN };
}
