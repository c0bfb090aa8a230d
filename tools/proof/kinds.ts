import type { Random } from '../../src/simulator/random.ts';
import type { Simulator } from '../../test/support/simulator/simulator.ts';
import type { Range } from '../../src/range.ts';

/** A list endpoint whose records can be tampered with. */
export type Endpoint = 'blocks' | 'transactions' | 'traces' | 'jetton/transfers';

type Json = Record<string, unknown>;

/** A fault of the responses: replaces the records of a page. */
export interface Injection {
  /** The chosen record, for the log of a seed that fails. */
  readonly target: string;
  tamper(endpoint: Endpoint, records: Json[]): Json[];
  /**
   * Blocks to lose. The crawl itself notices most blocks that a response lacks, and reads unlinked pages
   * again. If they are deleted from the database without a note, only verification can miss them.
   */
  readonly lost?: (block: Block) => boolean;
}

interface Block {
  readonly workchain: number;
  readonly shard: string;
  readonly seqno: number;
}

/** How to choose the record of a network that goes wrong; undefined if the network has none of the kind. */
type Choose = (simulator: Simulator, range: Range, random: Random) => Injection | undefined;

/** Every way in which responses go wrong, by name. Each record is wrong once an endpoint: the next time it is right. */
export const KINDS: Readonly<Record<string, Choose>> = {
  'missing transaction': (simulator, range, random) => {
    const hash = pick([...simulator.truth.transactions(range)], random)?.hash;
    return hash === undefined
      ? undefined
      : withoutTransactions(`transaction ${hash}`, (tx) => tx['hash'] === hash);
  },
  'missing block at the start': (simulator, range, random) => {
    const first = { from: range.from, to: range.from + 8 };
    return dropBlocks(pick([...simulator.truth.blocks(first)], random));
  },
  'missing block in the middle': (simulator, range, random) => {
    const third = Math.floor((range.to - range.from) / 3);
    return dropBlocks(
      pick([...simulator.truth.blocks({ from: range.from + third, to: range.to - third })], random),
    );
  },
  'missing block at the end': (simulator, range, random) => {
    const last = { from: range.to - 8, to: range.to };
    return dropBlocks(pick([...simulator.truth.blocks(last)], random));
  },
  'missing shard branch': (simulator, range, random) => {
    const shards = [...simulator.truth.blocks(range)].filter(({ workchain }) => workchain === 0);
    const shard = pick(shards, random)?.shard;
    if (shard === undefined) return undefined;
    return {
      ...once(`shard ${shard}`, 'blocks', (block) => block['shard'] === shard && block['workchain'] === 0),
      lost: (block) => block.shard === shard && block.workchain === 0,
    };
  },
  'swapped amount': (simulator, range, random) => {
    const paid = [...simulator.truth.transactions(range)].flatMap(({ in_msg }) =>
      in_msg?.source != null && Number(in_msg.value) > 0 ? [in_msg.hash] : [],
    );
    const hash = pick(paid, random);
    if (hash === undefined) return undefined;
    return changeTransactions(`amount of message ${hash}`, (tx) => changeMessage(tx, hash));
  },
  'swapped fee': (simulator, range, random) => {
    const hash = pick([...simulator.truth.transactions(range)], random)?.hash;
    if (hash === undefined) return undefined;
    return changeTransactions(`fee of ${hash}`, (tx) =>
      tx['hash'] === hash ? { ...tx, total_fees: String(BigInt(String(tx['total_fees'])) + 1n) } : tx,
    );
  },
  'missing out message': (simulator, range, random) => {
    const senders = [...simulator.truth.transactions(range)].filter(({ out_msgs }) => out_msgs.length > 0);
    const hash = pick(senders, random)?.hash;
    if (hash === undefined) return undefined;
    return changeTransactions(`an out message of ${hash}`, (tx) =>
      tx['hash'] === hash && Array.isArray(tx['out_msgs'])
        ? { ...tx, out_msgs: tx['out_msgs'].slice(1) }
        : tx,
    );
  },
  'duplicated row': (simulator, range, random) => {
    const hash = pick([...simulator.truth.transactions(range)], random)?.hash;
    return hash === undefined ? undefined : duplicate(hash);
  },
  'second dropped from two streams': (simulator, range, random) => {
    const second = pick([...simulator.truth.transactions(range)], random)?.now;
    if (second === undefined) return undefined;
    const transactions = withoutTransactions(`second ${second}`, (tx) => tx['now'] === second);
    const blocks = once('', 'blocks', (block) => Number(block['gen_utime']) === second);
    return {
      target: transactions.target,
      tamper: (endpoint, records) => blocks.tamper(endpoint, transactions.tamper(endpoint, records)),
    };
  },
  'truncated 200 of blocks': (_, __, random) => truncate('blocks', random),
  'truncated 200 of transactions': (_, __, random) => truncate('transactions', random),
  'missing trace': (simulator, range, random) => {
    const id = pick([...simulator.truth.traces(range)], random)?.trace_id;
    return id === undefined ? undefined : once(`trace ${id}`, 'traces', (trace) => trace['trace_id'] === id);
  },
  'transaction missing in a trace': (simulator, range, random) => {
    const long = [...simulator.truth.traces(range)].filter(
      ({ transactions_order }) => transactions_order.length > 1,
    );
    const id = pick(long, random)?.trace_id;
    if (id === undefined) return undefined;
    return changeOnce(`the tree of ${id}`, 'traces', (trace) =>
      trace['trace_id'] === id ? cutTree(trace) : trace,
    );
  },
  'missing transfer (no checksum)': (simulator, range, random) => {
    const hash = pick([...simulator.truth.jettonTransfers(range)], random)?.transaction_hash;
    if (hash === undefined) return undefined;
    return once(`transfer ${hash}`, 'jetton/transfers', (transfer) => transfer['transaction_hash'] === hash);
  },
};

function pick<T>(list: readonly T[], random: Random): T | undefined {
  return list.length === 0 ? undefined : list[random.below(list.length)];
}

/** Leaves records out the first time that they would be served. */
function once(target: string, endpoint: Endpoint, chosen: (record: Json) => boolean): Injection {
  const done = new Set<string>();
  return {
    target,
    tamper: (at, records) =>
      at === endpoint ? records.filter((record) => !(chosen(record) && isFirst(done, record))) : records,
  };
}

/** Changes records the first time that they are served. */
function changeOnce(target: string, endpoint: Endpoint, change: (record: Json) => Json): Injection {
  const done = new Set<string>();
  return {
    target,
    tamper: (at, records) =>
      at === endpoint
        ? records.map((record) => {
            const changed = change(record);
            return changed !== record && isFirst(done, record) ? changed : record;
          })
        : records,
  };
}

function isFirst(done: Set<string>, record: Json): boolean {
  const { workchain, shard, seqno, hash, trace_id, transaction_hash } = record;
  const id = JSON.stringify([workchain, shard, seqno, hash, trace_id, transaction_hash]);
  if (done.has(id)) return false;
  done.add(id);
  return true;
}

function dropBlocks(block: Block | undefined): Injection | undefined {
  if (block === undefined) return undefined;
  const { workchain, shard, seqno } = block;
  const same = (other: Json) =>
    other['workchain'] === workchain && other['shard'] === shard && other['seqno'] === seqno;
  return {
    ...once(`block ${workchain}:${shard}:${seqno}`, 'blocks', same),
    lost: (other) => same({ ...other }),
  };
}

/** Transactions come in their own stream and with traces: they are left out of both. */
function withoutTransactions(target: string, chosen: (tx: Json) => boolean): Injection {
  const own = once(target, 'transactions', chosen);
  const done = new Set<string>();
  return {
    target,
    tamper: (endpoint, records) =>
      endpoint === 'traces'
        ? records.map((trace) => ({
            ...trace,
            transactions: Object.fromEntries(
              Object.entries(trace['transactions'] as Record<string, Json>).filter(
                ([, tx]) => !(chosen(tx) && isFirst(done, tx)),
              ),
            ),
          }))
        : own.tamper(endpoint, records),
  };
}

function changeTransactions(target: string, change: (tx: Json) => Json): Injection {
  const own = changeOnce(target, 'transactions', change);
  const within = changeOnce(target, 'transactions', change);
  return {
    target,
    tamper: (endpoint, records) =>
      endpoint === 'traces'
        ? records.map((trace) => {
            const transactions = Object.entries(trace['transactions'] as Record<string, Json>);
            const changed = within.tamper(
              'transactions',
              transactions.map(([, tx]) => tx),
            );
            return {
              ...trace,
              transactions: Object.fromEntries(transactions.map(([id], at) => [id, changed[at]])),
            };
          })
        : own.tamper(endpoint, records),
  };
}

function changeMessage(tx: Json, hash: string): Json {
  const changed = (message: Json): Json =>
    message['hash'] === hash ? { ...message, value: String(BigInt(String(message['value'])) + 1n) } : message;
  const [received, sent] = [tx['in_msg'] as Json | null, tx['out_msgs'] as Json[]];
  const touched = received?.['hash'] === hash || sent.some((message) => message['hash'] === hash);
  return touched ? { ...tx, in_msg: received && changed(received), out_msgs: sent.map(changed) } : tx;
}

/** One record comes twice and replaces the next one. */
function duplicate(hash: string): Injection {
  let done = false;
  return {
    target: `transaction ${hash} twice`,
    tamper(endpoint, records) {
      const at = records.findIndex((record) => record['hash'] === hash);
      if (endpoint !== 'transactions' || at < 0 || done) return records;
      done = true;
      return records.map((record, index) => (index === at + 1 ? (records[at] ?? record) : record));
    },
  };
}

function truncate(endpoint: Endpoint, random: Random): Injection {
  let done = false;
  return {
    target: `a page of ${endpoint}`,
    tamper(at, records) {
      if (at !== endpoint || done || records.length === 0) return records;
      done = true;
      return records.slice(0, random.below(records.length));
    },
  };
}

/** A trace without the last of its transactions, which its own number still counts. */
function cutTree(trace: Json): Json {
  const cut = (node: Json): Json => {
    const children = (node['children'] ?? []) as Json[];
    const last = children.at(-1);
    if (last === undefined) return node;
    const rest = children.slice(0, -1);
    return {
      ...node,
      children: ((last['children'] ?? []) as Json[]).length > 0 ? [...rest, cut(last)] : rest,
    };
  };
  return { ...trace, trace: cut(trace['trace'] as Json) };
}
