import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { BenchStore } from '../store.ts';

const TABLES = [
  { name: 'ton.transactions', order: 'utime, lt, account' },
  { name: 'ton.messages', order: 'utime, hash' },
] as const;
const ROUNDS = 5;

/** The rows of a database as files that the server itself reads. */
export interface RowFiles {
  readonly rows: number;
  readonly files: readonly { readonly table: string; readonly columns: string; readonly path: string }[];
  remove(): Promise<void>;
}

/** The columns of a table that rows can bring: all that are not generated. */
async function columnsOf({ client }: BenchStore, table: string): Promise<string> {
  const { rows } = await client.query<{ columns: string }>(
    `select string_agg(quote_ident(attname), ', ' order by attnum) as columns from pg_attribute
    where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    [table],
  );
  return rows[0]?.columns ?? '';
}

export async function copyFiles(source: BenchStore): Promise<RowFiles> {
  const files: RowFiles['files'][number][] = [];
  let rows = 0;
  for (const { name, order } of TABLES) {
    const path = join(tmpdir(), `toncenter-etl-bench-${process.pid}-${name}`);
    const columns = await columnsOf(source, name);
    const copied = await source.client.query(
      `copy (select ${columns} from ${name} order by ${order}) to '${path}'`,
    );
    rows += copied.rowCount ?? 0;
    files.push({ table: name, columns, path });
  }
  return {
    rows,
    files,
    async remove() {
      for (const { path } of files) await rm(path, { force: true });
    },
  };
}

/** The median; NaN of no values. */
export function middle(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** What the server takes for all rows. */
export interface CopyCost {
  readonly seconds: number;
  /** 0 if the server does not say. */
  readonly cpuSeconds: number;
}

interface CopyOptions {
  readonly rounds?: number;
  readonly before?: string;
  /** A statement afterwards that counts, too. */
  readonly afterwards?: string;
  /** CPU seconds that the server has used so far. */
  readonly cpuSeconds?: () => Promise<number>;
}

/**
 * What the server itself takes with `COPY … FROM 'file'` for rows into the empty tables of `target`, with the
 * same indexes and partitions. Every other way is compared with this limit. Each figure is the median of
 * `rounds`.
 */
export async function copyCost(
  { client }: BenchStore,
  { files }: RowFiles,
  { rounds = ROUNDS, before = '', afterwards = '', cpuSeconds = () => Promise.resolve(0) }: CopyOptions = {},
): Promise<CopyCost> {
  const costs: CopyCost[] = [];
  for (let round = 0; round < rounds; round += 1) {
    // In a separate transaction: otherwise Postgres would leave the rows out of the WAL.
    await client.query(`truncate ${TABLES.map(({ name }) => name).join(', ')}`);
    await client.query(before);
    await client.query('checkpoint');
    const cpu = await cpuSeconds();
    const start = performance.now();
    for (const { table, columns, path } of files)
      await client.query(`copy ${table} (${columns}) from '${path}'`);
    await client.query(afterwards);
    const seconds = (performance.now() - start) / 1000;
    costs.push({ seconds, cpuSeconds: (await cpuSeconds()) - cpu });
  }
  return {
    seconds: middle(costs.map((cost) => cost.seconds)),
    cpuSeconds: middle(costs.map((cost) => cost.cpuSeconds)),
  };
}
