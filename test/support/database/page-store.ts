import pg from 'pg';
import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import { expect } from 'vitest';
import { writeRows } from './write-rows.ts';
import { createPartitions } from '../../../src/write/target.ts';
import { linesOfRecords } from '../../../src/write/lines.ts';
import { ensurePartitions, inOrder } from '../../../src/write/commit.ts';
import type { Job } from '../../../src/dataset/job.ts';
import { openTestStore } from './database.ts';
import { textColumns, type TextRow } from '../rebuild/text-row.ts';

/** A separate database that stores the rows of records, and returns rows as text. */
export interface PageStore {
  /** Writes the rows of these records, which all must fit, and returns how many rows were new or changed. */
  write(job: Job, records: readonly unknown[]): Promise<number>;
  read(table: PgTable, where: string, values: readonly unknown[]): Promise<TextRow[]>;
  close(): Promise<void>;
}

export async function openPageStore(): Promise<PageStore> {
  const store = await openTestStore();
  const { url, database } = store;
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  const partitions = createPartitions(database, 'month');
  return {
    async write(job, records) {
      const { accepted, rejected } = job.read(records);
      expect(rejected).toEqual([]);
      let changed = 0;
      const byTable = inOrder(linesOfRecords(job.tables, accepted));
      await ensurePartitions(partitions, byTable);
      for (const tableRows of byTable) {
        changed += await database.transaction((session) => writeRows(session, [tableRows]));
      }
      return changed;
    },
    async read(table, where, values) {
      const { name } = getTableConfig(table);
      const { rows } = await client.query<TextRow>(
        `select ${textColumns(table)} from ton.${name} where ${where}`,
        [...values],
      );
      return rows;
    },
    async close() {
      await client.end();
      await store.close();
    },
  };
}
