import { rename } from 'node:fs/promises';
import { DuckDBInstance, type Json } from '@duckdb/node-api';

/** A reader of Parquet and CSV other than the program's own code. */
export interface Duck {
  rows(statement: string): Promise<Json[][]>;
  /** Replaces a Parquet file by the rows of a query, in which it is called `this`. */
  rewrite(path: string, query: string): Promise<void>;
  close(): void;
}

export async function openDuck(): Promise<Duck> {
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  await connection.run(`set TimeZone = 'UTC'`);
  return {
    rows: async (statement) => (await connection.runAndReadAll(statement)).getRowsJson(),
    async rewrite(path, query) {
      await connection.run(
        `copy (with this as (from read_parquet('${path}', hive_partitioning = false)) ${query})
         to '${path}.new' (format parquet, compression zstd)`,
      );
      await rename(`${path}.new`, path);
    },
    close: () => {
      connection.closeSync();
      instance.closeSync();
    },
  };
}
