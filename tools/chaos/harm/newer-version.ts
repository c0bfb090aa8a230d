import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { withClient, type Run } from '../run.ts';
import type { Workers } from '../workers.ts';

/** Transactions in flight may still be committed, to tables that the migration does not change. */
const UNDER_WAY_MS = 1500;
/** How long the workers are watched. */
const WATCHED_MS = 3000;

/**
 * A newer version of the program migrates the database while this one runs. Processes that run or are started
 * end with exit 2, and none writes in the old form. Then the migration is undone.
 */
export async function meetNewerVersion(run: Run, workers: Workers): Promise<void> {
  run.harms.set('newer version', 1);
  await withClient(run, async (client) => {
    await client.query('update chaos.weather set disk_full = false');
    await client.query(`
      begin;
      alter table ton.blocks add column of_the_future int;
      insert into etl.migrations (hash, created_at) values ('of the future', 9e12);
      commit`);
    workers.expectOutdated();
    const migrated = await lastPage(client);
    await delay(UNDER_WAY_MS);
    const late = await lastPage(client);
    await delay(WATCHED_MS);
    const { rows } = await client.query<{ dataset: string }>(
      `select dataset from etl.pages where rows > 0 and (id > $1 and dataset = 'blocks' or id > $2)`,
      [migrated, late],
    );
    if (rows.length > 0)
      workers.complaints.push(
        `pages were written in the form of an old version: ${rows.map(({ dataset }) => dataset).join()}`,
      );
    await workers.end();
    await client.query(`
      begin;
      delete from etl.migrations where hash = 'of the future';
      alter table ton.blocks drop column of_the_future;
      commit`);
  });
}

async function lastPage(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ last: number }>(
    'select coalesce(max(id), 0)::int as last from etl.pages',
  );
  return rows[0]?.last ?? 0;
}
