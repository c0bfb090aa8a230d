import { sql } from 'drizzle-orm';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { dropPartition } from '../../src/write/take-out.ts';
import { blocks } from '../../src/tables/ton/blocks.ts';
import { createPartitions } from '../../src/write/target.ts';
import { WrongDatabaseError } from '../../src/errors.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const TIME = '2026-03-15T00:00:00Z';
const NAME = 'blocks_2026_03_01';
const SPAN = { from: Date.UTC(2026, 2) / 1000, to: Date.UTC(2026, 3) / 1000 };

let store: TestStore;
beforeEach(async () => {
  store = await openTestStore();
  await ensure();
});
afterEach(() => store.close());

/** As a process does that has just started. */
const ensure = () => createPartitions(store.database, 'month').ensure([blocks], [TIME]);
const insert = () =>
  store.database.run(sql`
    insert into ton.blocks (utime, workchain, shard, seqno, root_hash, file_hash, start_lt, end_lt, tx_count)
    values (${TIME}, 0, '8000000000000000', 1, 'r', 'f', 1, 2, 0)`);
const listed = () =>
  store.database.rows(
    sql`select name from etl.partitions where parent = 'blocks'`,
    z.object({ name: z.string() }),
  );
const detach = () => store.database.script(`alter table ton.blocks detach partition etl_partitions.${NAME}`);
const detachedError = async () => {
  const error = await ensure().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WrongDatabaseError);
  expect(String(error)).toContain(`etl_partitions.${NAME} was detached from ton.blocks`);
  return error as WrongDatabaseError;
};

describe('a partition that a person has', () => {
  test('dropped is created again', async () => {
    await store.database.script(`drop table etl_partitions.${NAME}`);
    await ensure();
    expect(await listed()).toEqual([{ name: NAME }]);
    expect(
      await store.database.run(sql`select from pg_inherits where inhparent = 'ton.blocks'::regclass`),
    ).toBe(1);
  });

  test('detached is left to that person: the printed command attaches it again', async () => {
    await detach();
    const { exitCode, hint = '' } = await detachedError();
    expect(exitCode).toBe(2);
    await store.database.script(/alter table .*?\)(?=;)/.exec(hint)?.[0] ?? '');
    await ensure();
  });

  test('detached, and drops with the printed command, is created again', async () => {
    await detach();
    const { hint = '' } = await detachedError();
    await store.database.script(/drop table \S+(?=\.$)/.exec(hint)?.[0] ?? '');
    await ensure();
    expect(await listed()).toEqual([{ name: NAME }]);
  });

  test('detached and removed from the list still blocks rows', async () => {
    await detach();
    await store.database.script(`delete from etl.partitions`);
    await detachedError();
  });

  test('detached concurrently, but only half-way, takes no rows', async () => {
    await store.database.script(`
      set local allow_system_table_mods = on;
      update pg_inherits set inhdetachpending = true where inhparent = 'ton.blocks'::regclass`);
    await detachedError();
  });

  test('detached is left alone by retention, which removes it from the list', async () => {
    await detach();
    await dropPartition(store.database, { table: 'blocks', name: NAME, span: SPAN, bytes: 0, rows: 0 }, {});
    expect(await listed()).toEqual([]);
    expect(
      await store.database.run(sql`select where to_regclass(${`etl_partitions.${NAME}`}) is not null`),
    ).toBe(1);
  });
});

test('rows without a partition are told from a violated check, whatever the language of the server', async () => {
  await detach();
  await expect(insert()).rejects.toMatchObject({ code: 'database_conflict' });
  await store.database.script(`
    alter table ton.blocks attach partition etl_partitions.${NAME} for values from ('2026-03-01') to ('2026-04-01');
    alter table ton.blocks add constraint positive check (seqno > 1)`);
  await expect(insert()).rejects.toMatchObject({ code: 'database' });
});
