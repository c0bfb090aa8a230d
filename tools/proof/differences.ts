import pg from 'pg';
import type { Range } from '../../src/range.ts';
import type { Simulator } from '../../test/support/simulator/simulator.ts';
import { sameRecord } from '../../test/support/same-record.ts';
import { readStored } from '../../test/support/stored.ts';

/** Seconds of each dataset in which the database does not hold what the network really is. */
export type Differences = ReadonlyMap<string, ReadonlySet<number>>;

/** Compares everything that is stored of a range with the truth, member by member where the tables allow it. */
export async function differences(
  url: string,
  { truth }: Simulator,
  range: Range,
  names: readonly string[],
): Promise<Differences> {
  const found = await readStored(url, async (stored) => {
    const blocks = (await stored.blocks()) as Block[];
    const transactions = (await stored.transactions()) as Transaction[];
    return new Map([
      [
        'blocks',
        differing('blocks', blocks, [...truth.blocks(range)], range, blockKey, ({ gen_utime }) =>
          Number(gen_utime),
        ),
      ],
      [
        'transactions',
        differing(
          'transactions',
          transactions,
          [...truth.transactions(range)],
          range,
          ({ hash }) => hash,
          ({ now }) => now,
        ),
      ],
    ]);
  });
  const traces = [...truth.traces(range)].map(({ trace_id, end_utime, trace_info }) => ({
    trace_id,
    end_utime,
    transactions: trace_info.transactions,
    nodes: trace_info.transactions,
  }));
  const transfers = [...truth.jettonTransfers(range)].map(({ transaction_hash, transaction_now }) => ({
    transaction_hash,
    transaction_now,
  }));
  const others = await readOthers(url);
  found.set(
    'traces',
    differing(
      '',
      others.traces,
      traces,
      range,
      (trace) => trace.trace_id,
      (trace) => trace.end_utime,
    ),
  );
  found.set(
    'jetton_transfers',
    differing(
      '',
      others.transfers,
      transfers,
      range,
      (one) => one.transaction_hash,
      (one) => one.transaction_now,
    ),
  );
  return new Map([...found].filter(([name]) => names.includes(name)));
}

interface Block {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
  readonly gen_utime: string;
}
interface Transaction {
  readonly hash: string;
  readonly now: number;
}
interface Trace {
  readonly trace_id: string;
  readonly end_utime: number;
  readonly transactions: number;
  readonly nodes: number;
}
interface Transfer {
  readonly transaction_hash: string;
  readonly transaction_now: number;
}

const blockKey = ({ workchain, shard, seqno }: Block) => `${workchain}:${shard}:${seqno}`;

function differing<T>(
  endpoint: string,
  stored: readonly T[],
  truth: readonly T[],
  { from, to }: Range,
  key: (record: T) => string,
  second: (record: T) => number,
): Set<number> {
  const left = new Map(
    stored
      .filter((record) => second(record) >= from && second(record) < to)
      .map((record) => [key(record), record]),
  );
  const seconds = new Set<number>();
  for (const record of truth) {
    const same = left.get(key(record));
    left.delete(key(record));
    if (same === undefined || !sameRecord(endpoint, same, record)) seconds.add(second(record));
  }
  for (const record of left.values()) seconds.add(second(record));
  return seconds;
}

async function readOthers(url: string): Promise<{ traces: Trace[]; transfers: Transfer[] }> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: traces } = await client.query<Trace>(`
      select trace_id, extract(epoch from utime)::int as end_utime, transactions::int,
        (select count(*)::int from ton.trace_edges e where e.utime = t.utime and e.trace_id = t.trace_id) as nodes
      from ton.traces t`);
    const { rows: transfers } = await client.query<Transfer>(
      'select transaction_hash, extract(epoch from utime)::int as transaction_now from ton.jetton_transfers',
    );
    return { traces, transfers };
  } finally {
    await client.end();
  }
}
