import { TABLE_NAMES, type BenchStore } from '../store.ts';

export interface Size {
  /** Bytes a row with its indexes, by table. */
  readonly tables: Readonly<Record<string, number>>;
  /** Bytes of both tables for each transaction: its row and its share of the messages. */
  readonly transaction: number;
}

/** The size of rows in Postgres, indexes and TOAST included. */
export async function sizeOf({ client }: BenchStore): Promise<Size> {
  const tables: Record<string, number> = {};
  let bytes = 0;
  let transactions = 1;
  for (const name of TABLE_NAMES) {
    const { rows } = await client.query<{ bytes: number; rows: number }>(
      `select sum(pg_total_relation_size(relid))::float8 as bytes, (select count(*)::int from ${name}) as rows
       from pg_partition_tree('${name}') where isleaf`,
    );
    const [size = { bytes: NaN, rows: NaN }] = rows;
    tables[name] = Math.round(size.bytes / size.rows);
    bytes += size.bytes;
    if (name === 'ton.transactions') transactions = size.rows;
  }
  return { tables, transaction: Math.round(bytes / transactions) };
}
