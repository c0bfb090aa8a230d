import pg from 'pg';
import { loadTables } from '../../../src/postgres/load-tables.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { openDatabase } from '../../../src/postgres/database.ts';
import { describeTable } from '../../../src/read/table-rows.ts';
import { formatTime } from '../../../src/range.ts';
import { SPAN } from '../network.ts';
import { crawlOneDay } from './one-day.ts';
import { valueOn, type Dialect } from './other-day.ts';

const DAYS = (SPAN.to - SPAN.from) / 86_400;

const TABLES = [
  ...[
    'transactions',
    'messages',
    'traces',
    'trace_nodes',
    'actions',
    'action_accounts',
    'action_transactions',
  ],
  ...['jetton_transfers', 'jetton_burns', 'nft_transfers'],
];

/** Bodies, which no question reads and which would be most of the bytes. */
const LEFT_OUT = new Set([
  ...['content_body', 'init_state_body', 'custom_payload', 'forward_payload', 'content_decoded'],
  ...['decoded_custom_payload', 'decoded_forward_payload'],
]);

interface Column {
  readonly name: string;
  readonly type: string;
}

/**
 * Two years in monthly partitions, of about so many transactions and their rows. A day of the simulator's
 * network is crawled, and copied to every other day with other hashes and, on nine days out of ten, other
 * accounts. Secondary indexes are built at the end. Continues an earlier call that was stopped; false if it
 * reaches `deadline` (of `performance.now()`) first.
 */
export async function fillTwoYears(url: string, transactions: number, deadline: number): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query('create schema if not exists bench');
    await client.query(
      'create table if not exists bench.done (step text primary key, at timestamptz default now())',
    );
    const step = async (name: string, work: () => Promise<unknown>): Promise<boolean> => {
      const { rowCount } = await client.query('select from bench.done where step = $1', [name]);
      if (rowCount !== 0) return true;
      if (performance.now() > deadline) return false;
      await work();
      await client.query('insert into bench.done (step) values ($1)', [name]);
      return true;
    };
    await step('day', () => keepOneDay(url, client, Math.round(transactions / DAYS)));
    await step('partitions', () => makePartitions(url, client));
    for (let day = 1; day < DAYS; day += 1)
      if (!(await step(`day ${day}`, () => putDay(client, day)))) return false;
    return await buildIndexes(client, step);
  } finally {
    await client.end();
  }
}

/** The crawled day, next to the tables; secondary indexes wait until all rows are there. */
async function keepOneDay(url: string, client: pg.Client, transactions: number): Promise<void> {
  await crawlOneDay(url, client, transactions);
  await client.query(
    `create table bench.indexes as
    select indexname as name, replace(indexdef, ' ON ONLY ', ' ON ') as definition from pg_indexes
    where schemaname = 'ton' and tablename = any($1) and indexname not like '%\\_pk'`,
    [TABLES],
  );
  const { rows } = await client.query<{ name: string }>('select name from bench.indexes');
  for (const { name } of rows) await client.query(`drop index ton.${pg.escapeIdentifier(name)}`);
  for (const name of TABLES) await client.query(`create table bench.${name} as select * from ton.${name}`);
}

/** Not logged: they are not needed after a crash. */
async function makePartitions(url: string, client: pg.Client): Promise<void> {
  const database = await openDatabase({ url, applicationName: 'bench' });
  const tables = (await loadTables()).filter((table) => TABLES.includes(describeTable(table).name));
  const times: string[] = [];
  for (let time = SPAN.from; time < SPAN.to; time += 14 * 86_400) times.push(formatTime(time));
  await createPartitions(database, 'month').ensure(tables, times);
  await database.close();
  const { rows } = await client.query<{ name: string }>(
    'select name from etl.partitions where parent = any($1)',
    [TABLES],
  );
  for (const { name } of rows) {
    await client.query(`alter table etl_partitions.${pg.escapeIdentifier(name)} set unlogged`);
    await client.query(
      `alter table etl_partitions.${pg.escapeIdentifier(name)} set (autovacuum_enabled = false)`,
    );
  }
}

async function putDay(client: pg.Client, day: number): Promise<void> {
  for (const table of TABLES) {
    const columns = await columnsOf(client, table);
    const names = columns.map(({ name }) => pg.escapeIdentifier(name)).join(', ');
    const values = columns
      .map((column) => (LEFT_OUT.has(column.name) ? 'null' : valueOn(column, day, POSTGRES)))
      .join(', ');
    await client.query(`insert into ton.${table} (${names}) select ${values} from bench.${table}`);
  }
}

const known = new Map<string, readonly Column[]>();

async function columnsOf(client: pg.Client, table: string): Promise<readonly Column[]> {
  const found = known.get(table);
  if (found !== undefined) return found;
  const { rows } = await client.query<Column>(
    `select attname as name, format_type(atttypid, atttypmod) as type from pg_attribute
     where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`,
    [`ton.${table}`],
  );
  known.set(table, rows);
  return rows;
}

const POSTGRES: Dialect = {
  hex: (text) => `encode(sha256((${text})::bytea), 'hex')`,
  base64: (text) => `encode(sha256((${text})::bytea), 'base64')`,
  later: (column, days) => `${column} + interval '${days * 24} hours'`,
};

type Step = (name: string, work: () => Promise<unknown>) => Promise<boolean>;

async function buildIndexes(client: pg.Client, step: Step): Promise<boolean> {
  await client.query("set maintenance_work_mem = '1GB'");
  const { rows } = await client.query<{ name: string; definition: string }>(
    'select * from bench.indexes order by 1',
  );
  for (const { name, definition } of rows)
    if (!(await step(`index ${name}`, () => client.query(definition)))) return false;
  for (const table of TABLES)
    if (!(await step(`analyze ${table}`, () => client.query(`vacuum (analyze, freeze) ton.${table}`))))
      return false;
  return true;
}
