import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Crawl } from '../../src/app.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readVerified } from '../../src/db/coverage/verifications.ts';
import { lengthOf, type Range, without } from '../../src/range.ts';
import type { HttpResponse } from '../../src/simulator/http/response.ts';
import { transactions } from '../../src/db/schema/ton/transactions.ts';
import type { Result, Step } from '../../src/verify/check.ts';
import { countTransactions } from '../../src/verify/checks/transactions.ts';
import { holdRows, rowsOf } from '../../src/verify/run/held.ts';
import { runStep } from '../../src/verify/run/run-step.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import type { Verified } from '../../src/verify/verify.ts';
import { datasetsNamed, openTestCrawl } from '../support/crawl.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let crawl: Crawl;
let proof: Proof;
let datasets: Dataset[];
let range: Range;

/** What becomes of each response, where a test says so. */
let alter: (path: string, response: HttpResponse) => HttpResponse = (_, response) => response;
const TracePage = z.looseObject({
  traces: z.array(
    z.looseObject({
      trace_id: z.string(),
      transactions: z.record(z.string(), z.looseObject({ hash: z.string(), lt: z.string() })),
    }),
  ),
});

/** A page of traces, with a transaction in one of them that the chain has not. */
function withStranger(id: string, response: HttpResponse): HttpResponse {
  const body = TracePage.parse(JSON.parse(String(response.body)));
  for (const { trace_id, transactions: within } of body.traces) {
    const [own] = Object.values(within);
    if (trace_id !== id || own === undefined) continue;
    const hash = `${own.hash.startsWith('A') ? 'B' : 'A'}${own.hash.slice(1)}`;
    within[hash] = { ...own, hash, lt: String(BigInt(own.lt) + 1n) };
  }
  return { ...response, body: JSON.stringify(body) };
}

// One network for all: each test leaves it as it was, because what it breaks is repaired.
beforeAll(async () => {
  store = await openTestStore();
  const after = ({ path }: { readonly path: string }, response: HttpResponse) => alter(path, response);
  simulator = await startSimulator({
    start: START,
    duration: 600,
    seed: 5,
    load: 2,
    reshardEvery: 15,
    after,
  });
  crawl = await openTestCrawl(store, simulator.url);
  proof = await openProof(store, crawl);
  datasets = await datasetsNamed('blocks', 'transactions', 'traces');
  range = await proof.cover(datasets, await proof.reach());
});
afterAll(async () => {
  await crawl.close();
  await simulator.close();
  await store.close();
});

function of(reports: readonly Verified[], name: string): Verified {
  const report = reports.find(({ dataset }) => dataset.name === name);
  if (report === undefined) throw new Error(`no report on ${name}`);
  return report;
}

/** Findings as `kind` lists, for a readable comparison. */
function kinds(report: Verified): string[] {
  return [...new Set(report.findings.map(({ check, kind }) => `${check}: ${kind}`))].sort();
}

const run = (text: string) => store.database.run(sql.raw(text));

describe('what was crawled without faults', () => {
  test('is proved, with at most three requests', async () => {
    const before = simulator.stats.total;
    const reports = await proof.verify(datasets, range);
    expect(reports.map(({ dataset, verified, findings }) => [dataset.name, verified, findings])).toEqual([
      ['blocks', [range], []],
      ['transactions', [range], []],
      ['traces', [range], []],
    ]);
    expect(simulator.stats.total - before).toBeLessThanOrEqual(3);
  });

  test('is proved for a part in its middle', async () => {
    const middle = { from: range.from + 120, to: range.to - 200 };
    for (const { verified } of await proof.verify(datasets, middle)) expect(verified).toEqual([middle]);
  });
});

/** What each tampering with stored rows must be found as, in which dataset. */
const TAMPERINGS: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'a transaction is gone',
    'delete from ton.transactions where hash = (select hash from ton.transactions order by utime, lt, hash offset 300 limit 1)',
    'transactions',
    ['receipts: vanished_rows_of_transactions', 'transactions: missing_transactions'],
  ],
  [
    'a block is gone',
    'delete from ton.blocks where (workchain, shard, seqno) = (select workchain, shard, seqno from ton.blocks where workchain = 0 order by utime, shard, seqno offset 200 limit 1)',
    'blocks',
    [
      'blocks: missing_block',
      'blocks: not_closed',
      'blocks: stray_link',
      'receipts: vanished_rows_of_blocks',
    ],
  ],
  [
    'the links of a block are gone',
    'delete from ton.block_parents where (workchain, shard, seqno) = (select workchain, shard, seqno from ton.blocks where workchain = 0 order by utime, shard, seqno offset 200 limit 1)',
    'blocks',
    ['blocks: missing_link', 'blocks: unreached_block', 'receipts: vanished_rows_of_block_parents'],
  ],
  [
    'an out message is gone',
    'delete from ton.messages where hash = (select m.hash from ton.messages m where destination is null order by utime, m.hash offset 3 limit 1)',
    'transactions',
    ['messages: missing_out_messages', 'receipts: vanished_rows_of_messages'],
  ],
  [
    'an amount was changed',
    'update ton.messages set value = value + 1 where hash = (select hash from ton.messages where value > 0 and source is not null order by utime, hash offset 100 limit 1)',
    'transactions',
    ['books: unbalanced_ord'],
  ],
  [
    'a fee was changed',
    "update ton.transactions set total_fees = total_fees + 1 where hash = (select hash from ton.transactions where description_type = 'ord' order by utime, lt, hash offset 300 limit 1)",
    'transactions',
    ['books: unbalanced_ord'],
  ],
  [
    'a transaction was moved to another account',
    "update ton.transactions set account = '0:00' where hash = (select t.hash from ton.transactions t where exists (select 1 from ton.transactions n where n.prev_trans_hash = t.hash) and exists (select 1 from ton.transactions p where p.hash = t.prev_trans_hash) and t.description_type = 'ord' order by utime, lt, hash offset 300 limit 1)",
    'transactions',
    ['receipts: vanished_rows_of_transactions'],
  ],
  [
    'a block was made up',
    `insert into ton.blocks select r.* from (
       select * from ton.blocks where workchain = 0 order by utime, shard, seqno offset 200 limit 1) b,
       jsonb_populate_record(null::ton.blocks, to_jsonb(b) || '{"workchain": 7}') r`,
    'blocks',
    ['blocks: missing_link', 'blocks: unreached_block', 'receipts: unknown_rows_of_blocks'],
  ],
  [
    'a link leads to another stored block',
    'update ton.block_parents set parent_seqno = parent_seqno - 1 where (workchain, shard, seqno) = (select workchain, shard, seqno from ton.block_parents where workchain = 0 and shard = parent_shard and exists (select from ton.blocks b where b.shard = parent_shard and b.seqno = parent_seqno - 1) order by utime, shard, seqno offset 200 limit 1)',
    'blocks',
    ['blocks: unfit_link', 'blocks: unreached_block'],
  ],
  [
    'a block was moved, with its links',
    `with one as (
       select workchain, shard, seqno from ton.blocks where workchain = -1 order by seqno offset 20 limit 1),
     links as (
       update ton.block_parents set utime = utime + interval '1 second' where (workchain, shard, seqno) in (select * from one))
     update ton.blocks set utime = utime + interval '1 second' where (workchain, shard, seqno) in (select * from one)`,
    'blocks',
    [
      'block-seconds: other_second_than_transactions',
      'receipts: vanished_rows_of_block_parents',
      'receipts: vanished_rows_of_blocks',
    ],
  ],
  [
    'a message was made up',
    "insert into ton.messages (utime, hash, source, destination) select utime, '1', source, destination from ton.messages where source is not null order by utime, hash offset 40 limit 1",
    'transactions',
    ['messages: stray_message', 'receipts: unknown_rows_of_messages'],
  ],
  [
    'a node of a trace was made up',
    'insert into ton.trace_edges (utime, trace_id, tx_hash, position, children, end_lt) select utime, trace_id || trace_id, tx_hash, position, children, end_lt from ton.trace_edges order by utime, tx_hash offset 40 limit 1',
    'traces',
    ['receipts: unknown_rows_of_trace_edges', 'traces: doubled_edge', 'traces: stray_edge'],
  ],
  [
    'a trace is gone',
    'delete from ton.traces where trace_id = (select trace_id from ton.traces order by utime, trace_id offset 100 limit 1)',
    'traces',
    ['receipts: vanished_rows_of_traces', 'traces: missing_trace', 'traces: stray_edge'],
  ],
  [
    'a node of a trace is gone',
    'delete from ton.trace_edges where tx_hash = (select tx_hash from ton.trace_edges order by utime, tx_hash offset 100 limit 1)',
    'traces',
    ['receipts: vanished_rows_of_trace_edges', 'traces: missing_nodes'],
  ],
];

describe('where rows were changed by hand', () => {
  test.each(TAMPERINGS)(
    '%s: it is found, and repaired from the source',
    async (_, statement, name, expected) => {
      await proof.verify(datasets, range);
      expect(await run(statement)).toBe(1);
      const found = await proof.verify(datasets, range);
      expect(kinds(of(found, name))).toEqual(expected);
      expect(of(found, name).verified).not.toEqual([range]);
      const { reports } = await proof.repair(datasets, range, found);
      for (const { verified, findings } of reports) {
        expect(findings).toEqual([]);
        expect(verified).toEqual([range]);
      }
    },
  );
});

describe('what a check did not see', () => {
  const transactionsCheck = { dataset: 'transactions', scope: '' };

  test('it does not prove: it says how many rows it held, and of how many', async () => {
    const stored = rowsOf(await holdRows(store.database, transactions, range));
    const half = { from: range.from, to: range.from + 300 };
    const { findings } = await runStep(store.database, transactionsCheck, {
      check: 'half',
      stretch: range,
      run: (look) =>
        look(async (session) => {
          const held = await holdRows(session, transactions, half);
          return { findings: [], rows: rowsOf(held), held: [held] };
        }),
    });
    expect(findings).toMatchObject([{ check: 'half', kind: 'rows_not_held', outcome: 'doubt' }]);
    const [, held, owed] = /^held (\d+) of (\d+) rows of transactions, from 20/.exec(findings[0]!.example)!;
    expect(Number(held)).toBeLessThan(Number(owed));
    expect(Number(owed)).toBeLessThan(stored);
    expect(findings[0]!.spans.at(-1)?.to).toBe(range.to);
  });

  test('a warning of the database fails it, with its text', async () => {
    await run(`create function etl.warn() returns int language plpgsql as
      $$ begin raise notice 'all is well'; raise warning 'index is corrupted'; return 1; end $$`);
    const step: Step = {
      check: 'warned',
      stretch: range,
      run: (look) =>
        look(async (session): Promise<Result> => {
          return { findings: [], rows: await session.run(sql`select etl.warn()`) };
        }),
    };
    const { findings } = await runStep(store.database, transactionsCheck, step);
    expect(findings).toMatchObject([
      {
        kind: 'warning',
        spans: [range],
        example: expect.stringMatching(/WARNING: index is corrupted$/) as unknown,
      },
    ]);
    expect(findings).toHaveLength(1);
  });

  test('rows that a policy hides from the role are an error', async () => {
    await run(`create role sees_little; grant usage on schema ton, etl to sees_little;
      grant select on all tables in schema ton, etl to sees_little;
      alter table ton.transactions enable row level security;
      create policy little on ton.transactions to sees_little using (hash < 'M')`);
    const step = countTransactions(range);
    const asAnother: Step = {
      ...step,
      run: (look) =>
        step.run((work) =>
          look(async (session) => {
            await session.run(sql`set local role sees_little`);
            return work(session);
          }),
        ),
    };
    await expect(runStep(store.database, transactionsCheck, asAnother)).rejects.toThrow('row-level security');
    await run(`drop policy little on ton.transactions; alter table ton.transactions disable row level security;
      drop owned by sees_little; drop role sees_little`);
  });

  test('rows of a partition that is detached are missed, and nothing of them is verified', async () => {
    const [part] = await store.database.rows(
      sql`select c.oid::regclass::text as name, pg_get_expr(c.relpartbound, c.oid) as bounds from pg_class c
          where c.oid = (select tableoid from ton.transactions limit 1)`,
      z.object({ name: z.string(), bounds: z.string() }),
    );
    await run(`alter table ton.transactions detach partition ${part!.name}`);
    const found = await proof.verify(datasets, range);
    expect(of(found, 'transactions').verified).toEqual([]);
    expect(kinds(of(found, 'transactions'))).toContain('receipts: vanished_rows_of_transactions');
    await run(`alter table ton.transactions attach partition ${part!.name} ${part!.bounds}`);
    for (const { verified } of await proof.verify(datasets, range)) expect(verified).toEqual([range]);
  });
});

describe('what changes while checks run, or afterwards', () => {
  const take = (name: string, { from, to }: Range) =>
    run(`update etl.coverage set covered = covered - '{[${from},${to})}'::int8multirange,
      verified = verified - '{[${from},${to})}'::int8multirange where dataset = '${name}'`);
  const verified = (name: string) => readVerified(store.database, { dataset: name, scope: '', pass: 0 });
  const onlyTraces = () => datasets.filter(({ name }) => name === 'traces');

  test('what another dataset brings into verified seconds is not verified by the checks before', async () => {
    const [trace] = await store.database.rows(
      sql`select trace_id as id, extract(epoch from utime)::int8 as second from ton.traces
          order by utime, trace_id offset 40 limit 1`,
      z.object({ id: z.string(), second: z.coerce.number() }),
    );
    const { id, second } = trace!;
    await proof.verify(datasets, range);
    expect(await verified('transactions')).toEqual([range]);
    await take('traces', { from: second, to: second + 1 });
    alter = (path, response) => (path === '/api/v3/traces' ? withStranger(id, response) : response);
    await proof.cover(onlyTraces(), await proof.reach());
    alter = (_, response) => response;
    expect(lengthOf(without([range], await verified('transactions')))).toBe(1);
    const found = await proof.verify(datasets, range);
    expect(kinds(of(found, 'transactions'))).toContain('transactions: surplus_transactions');
    await proof.repair(datasets, range, found);
    expect(await verified('transactions')).toEqual([range]);
  });

  test('where a check rested on what somebody took away meanwhile, it verifies nothing', async () => {
    const gone = { from: range.from + 200, to: range.from + 201 };
    await run(`update etl.coverage set verified = '{}' where dataset = 'traces'`);
    const waiting = sql`select 1 as one from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock' and query like '%grades%'`;
    let verifying: Promise<Verified[]> | undefined;
    await store.database.transaction(async (session) => {
      // Transactions are verified by then, and traces are next.
      await session.run(sql`select 1 from etl.grades where dataset = 'transactions' for update`);
      verifying = proof.verify(onlyTraces(), range);
      while ((await store.database.rows(waiting, z.object({ one: z.number() }))).length === 0)
        await session.run(sql`select 1`);
      await take('transactions', gone);
    });
    const reports = await verifying!;
    expect(without([range], of(reports, 'transactions').verified)).toEqual([gone]);
    expect(without([range], of(reports, 'traces').verified)).toEqual([gone]);
    expect(without([range], await verified('traces'))).toEqual([gone]);
    await proof.cover(datasets, await proof.reach());
    for (const report of await proof.verify(datasets, range)) expect(report.verified).toEqual([range]);
  });
});
