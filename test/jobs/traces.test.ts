import { isDeepStrictEqual } from 'node:util';
import { getTableColumns } from 'drizzle-orm';
import { describe, expect, it } from 'vitest';
import job from '../../jobs/traces.ts';
import { traceTree } from '../../jobs/traces.ts';
import type { Rows } from '../../src/dataset/declaration/record.ts';
import { comparableTrace } from '../support/rebuild/comparable-trace.ts';
import { traceRebuilder, traceTables, type TraceStore } from '../support/rebuild/rebuild-from-rows.ts';
import { sampleMessage, sampleTransaction } from '../support/samples/sample-records.ts';
import { sampleAction, sampleDocumentedTrace, sampleTrace } from '../support/samples/sample-streams.ts';
import { hasCorpus, NO_CORPUS, recordedTraces } from '../support/shared-data.ts';
import { asTextRow, type TextRow } from '../support/rebuild/text-row.ts';

type Json = Record<string, unknown>;

function readOne(record: unknown): { rows: Rows; extra: object } {
  const { accepted, rejected } = job.read([record]);
  expect(rejected).toEqual([]);
  return accepted[0]!;
}

/** The rows of a record as a database would hold them: the first row of each key, with its sender filled in. */
function store(record: unknown): TraceStore {
  const { rows } = readOne(record);
  const held = Object.entries(traceTables).map(([name, table]) => [
    name,
    (rows[name] ?? []).map((row) => asTextRow(table, row)),
  ]);
  const found = Object.fromEntries(held) as Record<keyof TraceStore, TextRow[]>;
  const first = new Map<string, TextRow>();
  for (const row of found.messages) {
    const key = `${row['hash']} ${row['utime']}`;
    if (!first.has(key)) first.set(key, row);
  }
  return { ...found, messages: [...first.values()] };
}

function expectUnchanged(record: Json): void {
  const rebuilt = traceRebuilder(store(record))(record['trace_id'], 'actions' in record);
  expect(comparableTrace(rebuilt)).toEqual(comparableTrace(record));
}

function without(record: Json, ...names: string[]): Json {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !names.includes(key)));
}

/** A chain of transactions, each caused by the one before, as a tree. */
/** A hash that is made from a number. */
function numbered(number: number): string {
  return Buffer.from(String(number).padStart(32, '0')).toString('base64');
}

function chain(length: number): Json {
  let tree: Json = { tx_hash: numbered(length), in_msg_hash: numbered(0), children: [] };
  for (let index = length - 1; index > 0; index -= 1) {
    tree = { tx_hash: numbered(index), in_msg_hash: numbered(0), children: [tree] };
  }
  return tree;
}

describe('jobs/traces', () => {
  it('rebuilds a trace with every documented member from its rows', () => {
    expectUnchanged(sampleTrace());
    expectUnchanged(sampleTrace({ is_incomplete: true }));
  });

  it('fills every column of its own tables except the time of loading', () => {
    const { rows } = readOne(sampleTrace());
    for (const name of ['traces', 'trace_nodes'] as const) {
      const filled = Object.keys(rows[name]![0]!).sort();
      expect([...filled, 'loaded_at'].sort()).toEqual(Object.keys(getTableColumns(traceTables[name])).sort());
    }
  });

  it('keeps a transaction without children apart from one whose messages were not received', () => {
    const nodes = store(sampleTrace()).trace_nodes;
    expect(nodes.map(({ children }) => children)).toEqual(['2', '1', '0', null]);
    expect(nodes.map(({ parent_tx_hash }) => parent_tx_hash != null)).toEqual([false, true, true, true]);
  });

  it('rebuilds a trace that was too large for its server', () => {
    const large = { is_incomplete: true, warning: 'trace is too large' };
    const record = without(sampleTrace(large), 'trace', 'transactions', 'transactions_order');
    expectUnchanged(record);
    expect(readOne(record).rows).toMatchObject({ trace_nodes: [], transactions: [], messages: [] });
    expect(readOne(record).rows['traces']).toMatchObject([{ extra: null }]);
  });

  it('writes what senders sent before what receivers received', () => {
    const { messages } = readOne(sampleTrace()).rows as Record<string, Json[]>;
    expect(messages!.map(({ out_msg_tx_hash }) => out_msg_tx_hash != null).slice(0, 4)).toEqual(
      Array(4).fill(true),
    );
    expect(store(sampleTrace()).messages).toHaveLength(5);
  });

  it('takes the actions that a server sends with it', () => {
    const trace = sampleTrace();
    const action = (start_lt: string): Json =>
      sampleAction({ trace_id: trace['trace_id'], trace_end_utime: trace['end_utime'], start_lt });
    expectUnchanged({ ...trace, actions: [action('101'), { ...action('102'), newborn: 1 }] });
    expectUnchanged({ ...trace, actions: [] });
  });

  it('accepts the form of the document, with bodies in the tree', () => {
    const record = sampleDocumentedTrace();
    const { transactions } = readOne(record).rows;
    expect(transactions).toHaveLength(4);
    expectUnchanged(record);
  });

  it('keeps an order of transactions that is not by lt and account', () => {
    const record = sampleTrace();
    const order = record['transactions_order'] as string[];
    expectUnchanged({ ...record, transactions_order: order.toReversed() });
    expectUnchanged({ ...record, transactions_order: null });
  });

  it('keeps transactions that the tree does not name', () => {
    const record = sampleTrace();
    const stray = sampleTransaction({ now: 1_760_000_003 });
    const hash = String(stray['hash']);
    expectUnchanged({
      ...record,
      transactions: { ...(record['transactions'] as Json), [hash]: stray },
      transactions_order: [...(record['transactions_order'] as string[]), hash],
    });
  });

  it('keeps undocumented members with the row that they belong to', () => {
    const record = sampleTrace({ newborn: { big: [1] } });
    const [hash, transaction] = Object.entries(record['transactions'] as Record<string, Json>)[0]!;
    const tree = record['trace'] as { children: Json[] };
    const grown = {
      ...record,
      trace: { ...tree, grown: true, children: tree.children.map((child) => ({ ...child, grown: 'too' })) },
      transactions: { ...(record['transactions'] as Json), [hash]: { ...transaction, late: 1 } },
    };
    expectUnchanged(grown);
    const { rows } = readOne(grown);
    expect(rows['traces']).toMatchObject([
      {
        extra: {
          newborn: { big: [1] },
          'trace.grown': true,
          'trace.children.0.grown': 'too',
          'trace.children.1.grown': 'too',
        },
      },
    ]);
    expect(
      rows['transactions']!.filter((row) => 'extra' in row && JSON.stringify(row.extra).includes('late')),
    ).toHaveLength(1);
  });

  it('treats a hash of an unknown form as none', () => {
    const hex = Buffer.alloc(31, 1).toString('hex');
    for (const name of ['tx_hash', 'in_msg_hash']) {
      const malformed = { tx_hash: numbered(2), in_msg_hash: numbered(3), [name]: hex };
      const tree = { tx_hash: numbered(1), children: [malformed] };
      expect(job.read([sampleTrace({ trace: tree })]).rejected).toMatchObject([
        { path: `trace.children.0.${name}` },
      ]);
    }
    expect(job.read([sampleTrace({ trace: { ...chain(50_000), in_msg_hash: hex } })]).rejected).toMatchObject(
      [{ path: 'trace.in_msg_hash' }],
    );
  });

  it('reads a chain of any length', () => {
    const record = sampleTrace({ trace: chain(50_000), transactions: {}, transactions_order: [] });
    expect(readOne(record).rows['trace_nodes']).toHaveLength(50_000);
  });

  it('rejects a chain of invalid nodes without the path of each node', () => {
    const unfit = (malformed: Json): Json => {
      let tree: Json = malformed;
      for (let index = 1; index < 20_000; index += 1) tree = { ...malformed, children: [tree] };
      return tree;
    };
    for (const malformed of [{ in_msg_hash: numbered(0) }, { tx_hash: numbered(1), grown: 1 }]) {
      const issues = traceTree.safeParse(unfit(malformed)).error?.issues ?? [];
      expect(issues.at(-1)?.message).toMatch(/too many nodes/);
      expect(issues.reduce((sum, { path }) => sum + path.length, 0)).toBeLessThan(2_100_000);
    }
  });

  it('accepts seqnos as numbers, and times as strings', () => {
    const { rows } = readOne(sampleTrace({ mc_seqno_end: 70_000_000, end_utime: '1760000003' }));
    expect(rows['traces']).toMatchObject([{ mc_seqno_end: 70_000_000, utime: '2025-10-09T08:53:23Z' }]);
  });

  it('rejects a trace without an identifier, with the path', () => {
    for (const name of ['trace_id', 'end_utime', 'end_lt', 'start_utime']) {
      expect(job.read([sampleTrace({ [name]: null })]).rejected).toMatchObject([{ path: name }]);
    }
    const nameless = { tx_hash: numbered(1), children: [{ children: [] }] };
    expect(job.read([sampleTrace({ trace: nameless })]).rejected).toMatchObject([
      { path: 'trace.children.0.tx_hash', reason: 'names no transaction' },
    ]);
    const inner = sampleTransaction({ in_msg: sampleMessage({ value: '-' }) });
    expect(job.read([sampleTrace({ transactions: { h: inner } })]).rejected).toMatchObject([
      { path: 'transactions.h.in_msg.value' },
    ]);
  });

  it('reads the position of a trace from its end', () => {
    const record = sampleTrace({ end_utime: 1_760_000_009, end_lt: '7', trace_id: 't' });
    expect(job.read([record]).positions).toEqual([{ utime: 1_760_000_009, lt: '7', id: 't' }]);
  });
});

describe.skipIf(!hasCorpus)(`jobs/traces on recorded data${hasCorpus ? '' : ` (${NO_CORPUS})`}`, () => {
  const records = hasCorpus ? recordedTraces() : [];

  it('accepts every recorded trace and knows every member', () => {
    const { accepted, rejected } = job.read(records);
    expect(rejected).toEqual([]);
    expect(accepted.length).toBe(88);
    expect(new Set(accepted.flatMap(({ extra }) => Object.keys(extra)))).toEqual(new Set());
  });

  it('rebuilds every recorded trace with its tree, transactions and messages, member by member', () => {
    const filled = records.filter((record) => {
      const rebuilt = comparableTrace(traceRebuilder(store(record))(record['trace_id']));
      const sent = comparableTrace(record);
      if (isDeepStrictEqual(rebuilt, sent)) return false;
      // No value that was sent differs: the other half of a message has the members that this one left out.
      expect(rebuilt).toMatchObject(sent as Json);
      return true;
    });
    expect(filled.length).toBeLessThanOrEqual(1);
  });

  it('derives the order of transactions of every recorded trace', () => {
    const rows = job.read(records).accepted.flatMap(({ rows: found }) => found['traces'] as Json[]);
    expect(rows.filter(({ extra }) => extra !== null)).toEqual([]);
  });
});
