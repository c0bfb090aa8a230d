import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchStore } from './store.ts';

const TABLES = [
  { name: 'ton.transactions', order: 'utime, lt, account' },
  { name: 'ton.messages', order: 'utime, hash' },
] as const;
const ROUNDS = 5;

/**
 * Rows a second that the server itself writes with `COPY … FROM 'file'`, the rows of `source` into the empty tables of
 * `target`, which have the same indexes and partitions: the limit that every other way is held against. Median of 5.
 */
export async function copyLimit(source: BenchStore, target: BenchStore): Promise<number> {
  const files = TABLES.map(({ name }) => join(tmpdir(), `toncenter-etl-bench-${process.pid}-${name}`));
  try {
    let rows = 0;
    for (const [index, { name, order }] of TABLES.entries()) {
      const copied = await source.client.query(
        `copy (select * from ${name} order by ${order}) to '${files[index] ?? ''}'`,
      );
      rows += copied.rowCount ?? 0;
    }
    const seconds: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) seconds.push(await copyOnce(target, files));
    return rows / (seconds.sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? NaN);
  } finally {
    for (const file of files) await rm(file, { force: true });
  }
}

async function copyOnce({ client }: BenchStore, files: readonly string[]): Promise<number> {
  // In a transaction of its own: else Postgres would leave the rows out of the WAL.
  await client.query(`truncate ${TABLES.map(({ name }) => name).join(', ')}`);
  await client.query('checkpoint');
  const start = performance.now();
  for (const [index, { name }] of TABLES.entries())
    await client.query(`copy ${name} from '${files[index] ?? ''}'`);
  return (performance.now() - start) / 1000;
}
