import pg from 'pg';
import { expect } from 'vitest';
import { openNetworkProof } from '../support/verify.ts';
import { thorough } from '../support/thorough.ts';

/**
 * Postgres assumes that tables that were never analyzed are nearly empty, and may then compare each row of
 * one with each row of another. A backfill is verified long before autovacuum analyzes them.
 */
thorough(
  'verification reads each row a few times, even in tables that Postgres has never analyzed',
  async () => {
    const network = { start: Date.UTC(2026, 2, 1) / 1000, duration: 900, seed: 5, load: 4 };
    const { store, proof, datasets, range, close } = await openNetworkProof({
      network,
      datasets: ['blocks', 'transactions', 'traces', 'actions', 'jetton_transfers'],
    });
    try {
      const stored = await rowsStored(store.url);
      const before = await rowsRead(store.url);
      for (const { dataset, findings } of await proof.verify(datasets, range))
        expect([dataset.name, findings.filter(({ kind }) => kind !== 'read_once')]).toEqual([
          dataset.name,
          [],
        ]);
      const perRow = ((await rowsRead(store.url)) - before) / stored;
      expect(stored).toBeGreaterThan(10_000);
      expect(perRow).toBeLessThan(12);
    } finally {
      await close();
    }
  },
);

async function rowsStored(url: string): Promise<number> {
  return counted(url, `select sum(n_live_tup) as rows from pg_stat_user_tables where schemaname <> 'etl'`);
}

/** Entries of tables and indexes that this database's sessions have read so far. */
function rowsRead(url: string): Promise<number> {
  return counted(url, 'select tup_returned as rows from pg_stat_database where datname = current_database()');
}

/** Sessions report their counters when they end. */
async function counted(url: string, statement: string): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const others = 'from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()';
    await expect
      .poll(async () => {
        await client.query(`select pg_terminate_backend(pid) ${others}`);
        return (await client.query(`select ${others}`)).rowCount;
      })
      .toBe(0);
    const { rows } = await client.query<{ rows: string }>(statement);
    return Number(rows[0]?.rows);
  } finally {
    await client.end();
  }
}
