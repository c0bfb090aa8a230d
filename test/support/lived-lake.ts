import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect } from 'vitest';
import { commit, tablesIn } from '../../src/lake/delta-log.ts';
import { withLake, directoryStore } from '../../src/lake/open-lake.ts';
import { exported, logIn } from './lake.ts';

interface Store {
  readonly url: string;
  ask(statement: string): Promise<Readonly<Record<string, string | null>>[]>;
}

/** A small table; the database loses one of its rows. */
export const LIVED = 'jetton_transfers';

const range = { format: 'parquet', only: ['all'] };

/** The number of rows that the database has, for each table of a lake. */
export async function rowsInDatabase(store: Store, lake: string): Promise<ReadonlyMap<string, string>> {
  const rows = new Map<string, string>();
  for (const name of await tablesIn(directoryStore(lake))) {
    const [counted] = await store.ask(`select count(*) as rows from ton.${name}`);
    rows.set(name, counted?.['rows'] ?? '');
  }
  expect([...rows.values()].reduce((sum, count) => sum + Number(count), 0)).toBeGreaterThan(0);
  return rows;
}

/** All of January of a database. */
export async function wholeLake(store: Store, out: string): Promise<void> {
  expect((await exported(store.url, { ...range, out, from: '2026-01', to: '2026-02' })).code).toBe(0);
}

/**
 * A lake of one table after every kind of change: a second and a third export added parts and merged them, and a
 * checkpoint summed up the log. A fourth export rewrote the part, because the database had lost a row. All
 * removed parts still exist, as they do while readers hold them. Returns the rows of the table in the
 * database.
 */
export async function livedLake(store: Store, out: string): Promise<string> {
  const directory = join(out, LIVED);
  const old = join(dirname(out), 'old-parts');
  const bring = async (from: string, to: string) => {
    const ended = await exported(store.url, { ...range, only: [LIVED], out, from, to });
    expect(ended.code).toBe(0);
    await keepParts(directory, old);
    return (await logIn(out, LIVED)).parts.length;
  };
  expect(await bring('2026-01-01T00:00Z', '2026-01-01T00:40Z')).toBe(1);
  expect(await bring('2026-01-01T00:00Z', '2026-01-01T01:20Z')).toBe(1);
  // As if the hours after the network's end had been read.
  await store.ask(
    `update etl.coverage set covered = covered + int8multirange(int8range(${Date.UTC(2026, 0, 1) / 1000}, ${Date.UTC(2026, 0, 2) / 1000})) where dataset = '${LIVED}'`,
  );
  expect(await bring('2026-01-01', '2026-01-02')).toBe(1);
  await withLake(out, async (lake) => {
    let log = await logIn(out, LIVED);
    for (let time = 0; time < 25; time += 1)
      log = await commit(lake, log, { add: log.parts, remove: [], isNew: false });
    expect(log.checkpoint).toBeGreaterThan(0);
  });
  await store.ask(
    `delete from ton.${LIVED} where (utime, transaction_hash) = (select utime, transaction_hash from ton.${LIVED} limit 1)`,
  );
  expect(await bring('2026-01-01', '2026-01-02')).toBe(1);
  await keepParts(old, directory);
  expect((await partsOf(directory)).length).toBeGreaterThan(3);
  const [counted] = await store.ask(`select count(*) as rows from ton.${LIVED}`);
  return counted?.['rows'] ?? '';
}

async function partsOf(table: string): Promise<string[]> {
  const names = await readdir(table, { recursive: true });
  return names.filter((name) => /^day=[\d-]+\/part-.*\.parquet$/.test(name));
}

async function keepParts(from: string, to: string): Promise<void> {
  for (const name of await partsOf(from)) {
    await mkdir(dirname(join(to, name)), { recursive: true });
    await copyFile(join(from, name), join(to, name));
  }
}
