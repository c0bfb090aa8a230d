import { getTableConfig, type PgTable } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { block_parents, blocks } from '../../../src/tables/ton/blocks.ts';
import { messages, transactions } from '../../../src/tables/ton/transactions.ts';
import { rebuildBlock, rebuildTransaction } from '../rebuild/rebuild.ts';
import { textColumns, type TextRow } from '../rebuild/text-row.ts';

/** The contents of a database, rebuilt into the API's JSON. */
export interface Stored {
  blocks(): Promise<unknown[]>;
  transactions(): Promise<unknown[]>;
  messageHashes(): Promise<string[]>;
}

export async function readStored<T>(url: string, work: (stored: Stored) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url, options: '-c timezone=UTC' });
  await client.connect();
  try {
    return await work(storedIn(client));
  } finally {
    await client.end();
  }
}

function storedIn(client: pg.Client): Stored {
  const all = async (table: PgTable): Promise<TextRow[]> => {
    const { rows } = await client.query<TextRow>(
      `select ${textColumns(table)} from ton.${getTableConfig(table).name}`,
    );
    return rows;
  };
  return {
    async blocks() {
      const parents = groupBy(await all(block_parents), keyOf);
      return (await all(blocks)).map((row) => rebuildBlock(row, parents.get(keyOf(row)) ?? []));
    },
    async transactions() {
      const stored = await all(messages);
      const received = new Map(stored.map((row) => [`${row['hash']} ${row['utime']}`, row]));
      const sent = groupBy(stored, (row) => row['out_msg_tx_hash']);
      return (await all(transactions)).map((row) =>
        rebuildTransaction(
          row,
          received.get(`${row['in_msg_hash']} ${row['in_msg_utime']}`),
          sent.get(row['hash']) ?? [],
        ),
      );
    },
    messageHashes: async () => (await all(messages)).map((row) => row['hash'] ?? ''),
  };
}

function keyOf(row: TextRow): string {
  return `${row['workchain']} ${row['shard']} ${row['seqno']}`;
}

function groupBy<K>(rows: readonly TextRow[], keyFor: (row: TextRow) => K): Map<K, TextRow[]> {
  const groups = new Map<K, TextRow[]>();
  for (const row of rows) {
    const group = groups.get(keyFor(row));
    if (group === undefined) groups.set(keyFor(row), [row]);
    else group.push(row);
  }
  return groups;
}
