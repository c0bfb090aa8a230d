import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { createDatabase, type TestDatabase } from '../support/database/postgres.ts';
import { readAll, readVersion, restore, type Version } from '../../tools/upgrade/version.ts';

// Processes, on machines that may have other work.
let cli: Cli;
let database: TestDatabase;
let simulator: Simulator;
let version: Version;

beforeAll(async () => {
  version = await readVersion();
  database = await createDatabase();
  await restore(database.url, version);
  simulator = await startSimulator(version.network);
  cli = await openCli();
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
  await database.drop();
});

/** An older version's second readings are made anew: nobody knows what confirmed them. */
const SecondReading = z.looseObject({
  pass: z.literal(1),
  covered: z.string().transform(() => '{}'),
  updated_at: z.string().transform((): unknown => expect.anything()),
});

async function read(): Promise<Record<string, unknown[]>> {
  const client = new pg.Client({ connectionString: database.url, options: '-c timezone=UTC' });
  await client.connect();
  const tables = Object.keys(version.rows).filter(
    (table) => table.startsWith('ton.') || table === 'etl.coverage',
  );
  const rows = await readAll(client, tables).finally(() => client.end());
  return Object.fromEntries(
    Object.entries(rows).map(([table, texts]) => [table, texts.map((text) => JSON.parse(text) as unknown)]),
  );
}

describe('a database of an older version', () => {
  test('is migrated with all its rows and its coverage', async () => {
    const before = await read();
    expect(before['ton.transactions']?.length).toBeGreaterThan(10);
    const settings = { DATABASE_URL: database.url };
    expect(await cli.run(['migrate'], settings)).toMatchObject({ code: 0, stderr: '' });
    const after = await read();
    for (const [table, rows] of Object.entries(before)) {
      expect(after[table], table).toHaveLength(rows.length);
      // A newer version may have more columns; what was there must be there.
      for (const [index, row] of rows.entries())
        expect(after[table]?.[index], table).toMatchObject(
          SecondReading.safeParse(row).data ?? (row as object),
        );
    }
  });

  test('goes on without asking for what it has', async () => {
    const { from, to } = version.range;
    const range = ['--from', String(from), '--to', String(to), '--only', version.datasets.join()];
    const { code, stderr } = await cli.run(['backfill', ...range], {
      DATABASE_URL: database.url,
      TONCENTER_NETWORK: simulator.url,
      TONCENTER_RPS: '100',
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect([...simulator.stats.byPath.keys()]).toEqual(['/api/v3/masterchainInfo']);
  });
});
