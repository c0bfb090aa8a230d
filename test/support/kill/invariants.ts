import { createHash } from 'node:crypto';
import type pg from 'pg';
import { parseRangeText, type Range } from '../../../src/range.ts';
import type { Truth } from '../simulator/truth.ts';

/** The keys of a network's rows by time, as short as a comparison allows. */
export type Keys = Readonly<Record<string, readonly { readonly utime: number; readonly key: string }[]>>;

/** A row's key in SQL. */
const KEYS: Readonly<Record<string, string>> = {
  blocks: `workchain || ':' || shard || ':' || seqno`,
  transactions: 'hash',
  traces: 'trace_id',
};

export function keysOf(truth: Truth, span: Range): Keys {
  return {
    blocks: [...truth.blocks(span)].map((block) => ({
      utime: Number(block.gen_utime),
      key: `${block.workchain}:${block.shard}:${block.seqno}`,
    })),
    transactions: [...truth.transactions(span)].map(({ now, hash }) => ({ utime: now, key: hash })),
    traces: [...truth.traces(span)].map(({ end_utime, trace_id }) => ({
      utime: end_utime,
      key: trace_id,
    })),
  };
}

/**
 * The violations: coverage without exactly the rows that the network has there, or a transaction without its
 * messages. An empty list means that there are none.
 */
export async function violations(client: pg.Client, keys: Keys): Promise<string[]> {
  const { rows: streams } = await client.query<{ dataset: string; covered: string }>(
    'select dataset, covered::text from etl.coverage where pass = 0',
  );
  const wrong: string[] = [];
  for (const { dataset, covered } of streams) {
    const expression = KEYS[dataset];
    if (expression === undefined) continue;
    const ranges = parseRangeText(covered);
    const { rows } = await client.query<{ digest: string }>(
      `select count(*) || ' ' || md5(coalesce(string_agg(${expression}, ' ' order by (${expression}) collate "C"), '')) as digest
       from ton.${dataset} where $1::int8multirange @> extract(epoch from utime)::int8`,
      [covered],
    );
    const expected = digestOf(keys[dataset] ?? [], ranges);
    if (rows[0]?.digest !== expected)
      wrong.push(`${dataset} ${covered}: ${rows[0]?.digest ?? ''}, not ${expected}`);
  }
  return [...wrong, ...(await lonelyTransactions(client))];
}

function digestOf(rows: Keys[string], ranges: readonly Range[]): string {
  const inside = rows.filter(({ utime }) => ranges.some(({ from, to }) => utime >= from && utime < to));
  const text = inside
    .map(({ key }) => key)
    .sort((a, b) => (a < b ? -1 : 1))
    .join(' ');
  return `${inside.length} ${createHash('md5').update(text).digest('hex')}`;
}

async function lonelyTransactions(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ hash: string }>(
    `select hash from ton.transactions t
     where (in_msg_hash is not null and not exists
         (select from ton.messages m where m.utime = t.in_msg_utime and m.hash = t.in_msg_hash))
       or out_msg_count <> (select count(*) from ton.messages m where m.out_msg_tx_hash = t.hash and m.utime = t.utime)`,
  );
  return rows.map(({ hash }) => `transaction ${hash} lacks messages`);
}
