import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createPartitions } from '../../../src/db/write/partitions.ts';
import { allowReading } from '../../../src/db/migrate/reader.ts';
import { blocks } from '../../../src/db/schema/blocks.ts';
import { openTestStore, type TestStore } from '../../support/database.ts';

const NAME = `reader_${randomBytes(4).toString('hex')}`;

let store: TestStore;
let reader: pg.Client;

async function connectAs(user: string, password: string): Promise<pg.Client> {
  const url = new URL(store.url);
  Object.assign(url, { username: user, password });
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  return client;
}

beforeAll(async () => {
  store = await openTestStore();
  await createPartitions(store.database, 'month').ensure([blocks], ['2026-01-05T00:00:00Z']);
  reader = await connectAs(NAME, await allowReading(store.database, { name: NAME, timeout: 7 }));
});
afterAll(async () => {
  await reader.end();
  await store.close();
  const admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  await admin.query(`drop role ${NAME}`);
  await admin.end();
});

const one = async (statement: string): Promise<unknown> => {
  const { rows } = await reader.query<Record<string, unknown>>(statement);
  return Object.values(rows[0] ?? {})[0];
};

const put = (utime: string, seqno: number) =>
  store.database.run(sql`
    insert into ton.blocks (utime, workchain, shard, seqno, root_hash, file_hash, start_lt, end_lt, tx_count)
    values (${utime}, -1, '8000000000000000', ${seqno}, 'r', 'f', 1, 2, 0)`);

describe('the reader', () => {
  test('finds tables, views and functions without their schema', async () => {
    await put('2026-01-05T00:00:00Z', 1);
    expect(await one('select count(*)::int from blocks')).toBe(1);
    expect(await one('select count(*)::int from daily_activity')).toBe(0);
    expect(await one('select nano_to_ton(5)')).toBe('0.000000005');
    expect(await one('select count(*)::int from coverage_report')).toBe(0);
    expect(await one('show timezone')).toBe('UTC');
  });

  test('reads a partition that was made afterwards at once, and by its own name', async () => {
    await createPartitions(store.database, 'month').ensure([blocks], ['2026-02-05T00:00:00Z']);
    await put('2026-02-05T00:00:00Z', 2);
    expect(await one("select seqno from blocks where utime >= '2026-02-01Z'")).toBe(2);
    expect(await one('select seqno from etl_partitions.blocks_2026_02_01')).toBe(2);
  });

  test('reads a table of a later migration', async () => {
    await store.database.script('create table ton.later (x int); insert into ton.later values (3)');
    expect(await one('select x from later')).toBe(3);
  });

  test('asks whether a range is complete, though it cannot read the quarantine', async () => {
    await expect(
      reader.query("select etl.assert_complete('blocks', '2026-01-01Z', '2026-01-02Z')"),
    ).rejects.toThrow(/blocks is not covered/);
    await store.database.run(
      sql`insert into etl.coverage (dataset, scope, pass, covered) values ('blocks', '', 0, '{[1767225600,1767312000)}')`,
    );
    expect(await one("select etl.assert_complete('blocks', '2026-01-01Z', '2026-01-02Z')")).toBe(true);
  });

  test('has its statements ended', async () => {
    expect(await one('show statement_timeout')).toBe('7s');
    await reader.query("set statement_timeout = '50ms'");
    await expect(reader.query('select pg_sleep(5)')).rejects.toMatchObject({ code: '57014' });
    await reader.query('reset statement_timeout');
  });

  const forbidden = [
    'insert into ton.blocks (utime) values (now())',
    'insert into etl_partitions.blocks_2026_01_01 (utime) values (now())',
    'update ton.blocks set seqno = 5',
    'delete from ton.blocks',
    'truncate ton.blocks',
    'drop table ton.blocks',
    'alter table ton.blocks add column x int',
    'create table ton.mine (x int)',
    'create table public.mine (x int)',
    'create table etl.mine (x int)',
    'create schema mine',
    "create function ton.f() returns int language sql as 'select 1'",
    "copy (select 1) to program 'cat'",
    "copy ton.blocks from program 'echo'",
    "copy (select 1) to '/tmp/reader'",
    "select pg_read_file('postgresql.conf')",
    'select * from etl.quarantine',
    'select * from etl.settings',
    'select * from etl.leases',
    'select * from etl.budget',
    'select * from etl.watch',
    'select rolpassword from pg_authid',
    "select etl.take_slots('h', 1, 0, 1, false, 0)",
    `select etl.allow_reading('${NAME}', 'x', '1s')`,
    'create role another',
    'set role postgres',
  ];

  // What makes a session read-only is a setting of the session's: the role's privileges must hold without it.
  test.each(['on', 'off'])('may do nothing else, with transactions read-only %s', async (readOnly) => {
    await reader.query(`set default_transaction_read_only = ${readOnly}`);
    const codes: Record<string, unknown> = {};
    for (const statement of forbidden) {
      codes[statement] = await reader.query(statement).then(
        () => 'done',
        (error: unknown) => (error as pg.DatabaseError).code,
      );
    }
    // insufficient_privilege; read_only_sql_transaction comes first where that is on.
    const allowed = readOnly === 'on' ? ['42501', '25006'] : ['42501'];
    expect(Object.entries(codes).filter(([, code]) => !allowed.includes(String(code)))).toEqual([]);
  });
});

test('a new password voids the old one, and a role that may do more is refused', async () => {
  const next = await allowReading(store.database, { name: NAME, timeout: 7 });
  await expect(connectAs(NAME, 'another')).rejects.toThrow(/password authentication failed/);
  const again = await connectAs(NAME, next);
  await again.end();
  await expect(allowReading(store.database, { name: 'postgres', timeout: 7 })).rejects.toThrow(
    /may do more than read/,
  );
});
