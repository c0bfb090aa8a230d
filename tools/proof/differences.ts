import pg from 'pg';
import type { Range } from '../../src/range.ts';
import type { Simulator } from '../../test/support/simulator/simulator.ts';
import { sameRecord } from '../../test/support/rebuild/same-record.ts';
import { readStored } from '../../test/support/database/stored.ts';

/** Seconds of each dataset in which the database differs from the truth of the network. */
export type Differences = ReadonlyMap<string, ReadonlySet<number>>;

/** Compares all stored rows of a range with the truth, member by member if the tables allow it. */
export async function differences(
  url: string,
  { truth }: Simulator,
  range: Range,
  names: readonly string[],
): Promise<Differences> {
  const found = new Map([...(await inStreams(url, truth, range)), ...(await inOthers(url, truth, range))]);
  return new Map([...found].filter(([name]) => names.includes(name)));
}

function inStreams(url: string, truth: Simulator['truth'], range: Range): Promise<[string, Set<number>][]> {
  return readStored(url, async (stored) => [
    [
      'blocks',
      differing((await stored.blocks()) as Block[], [...truth.blocks(range)], range, {
        endpoint: 'blocks',
        key: ({ workchain, shard, seqno }) => `${workchain}:${shard}:${seqno}`,
        second: ({ gen_utime }) => Number(gen_utime),
      }),
    ],
    [
      'transactions',
      differing((await stored.transactions()) as Transaction[], [...truth.transactions(range)], range, {
        endpoint: 'transactions',
        key: ({ hash }) => hash,
        second: ({ now }) => now,
      }),
    ],
  ]);
}

async function inOthers(
  url: string,
  truth: Simulator['truth'],
  range: Range,
): Promise<[string, Set<number>][]> {
  const others = await readOthers(url);
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
  return [
    [
      'traces',
      differing(others.traces, traces, range, {
        endpoint: '',
        key: (trace) => trace.trace_id,
        second: (trace) => trace.end_utime,
      }),
    ],
    [
      'jetton_transfers',
      differing(others.transfers, transfers, range, {
        endpoint: '',
        key: (one) => one.transaction_hash,
        second: (one) => one.transaction_now,
      }),
    ],
  ];
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

/** How records of one kind are identified and dated. */
interface Form<T> {
  readonly endpoint: string;
  readonly key: (record: T) => string;
  readonly second: (record: T) => number;
}

function differing<T>(
  stored: readonly T[],
  truth: readonly T[],
  { from, to }: Range,
  { endpoint, key, second }: Form<T>,
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
        (select count(*)::int from ton.trace_nodes e where e.utime = t.utime and e.trace_id = t.trace_id) as nodes
      from ton.traces t`);
    const { rows: transfers } = await client.query<Transfer>(
      'select transaction_hash, extract(epoch from utime)::int as transaction_now from ton.jetton_transfers',
    );
    return { traces, transfers };
  } finally {
    await client.end();
  }
}
