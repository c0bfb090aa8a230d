import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { printReports } from '../../src/commands/verify-command.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { common, lengthOf, type Range, union, without, spanOfSecond } from '../../src/range.ts';
import type { HttpResponse } from '../../src/simulator/http/response.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { messages } from '../../src/tables/ton/transactions.ts';
import { unseal } from '../../src/write/seals.ts';
import type { Result, CheckStep } from '../../src/verify/checks/check.ts';
import { countTransactions, piecesOf } from '../../src/verify/checks/check-transactions.ts';
import { countRows } from '../../src/read/table-rows.ts';
import { runStep, type Verified } from '../../src/verify/verify.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { never } from '../support/crawl.ts';
import type { TestStore } from '../support/database/database.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';
import { TAMPERINGS } from '../support/tamperings.ts';
import { some } from '../support/thorough.ts';
import { openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 2, 1) / 1000;

let store: TestStore;
let simulator: Simulator;
let proof: Proof;
let datasets: Dataset[];
let range: Range;
let close: () => Promise<void>;

/** Changes each response, if a test sets it. */
let alter: (path: string, response: HttpResponse) => HttpResponse = (_, response) => response;
const TracePage = z.looseObject({
  traces: z.array(
    z.looseObject({
      trace_id: z.string(),
      transactions: z.record(z.string(), z.looseObject({ hash: z.string(), lt: z.string() })),
    }),
  ),
});

/** A page of traces, one of which has a transaction that is not in the chain. */
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

// One network for all: each test leaves it unchanged, because what it breaks is repaired.
beforeAll(async () => {
  const after = ({ path }: { readonly path: string }, response: HttpResponse) => alter(path, response);
  const network = { start: START, duration: 420, seed: 19, load: 2, reshardEvery: 15, after };
  const opened = await openNetworkProof({ network, datasets: ['blocks', 'transactions', 'traces'] });
  ({ store, simulator, proof, datasets, range, close } = opened);
});
afterAll(() => close());

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

describe('a crawl without faults', () => {
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

describe('after rows were changed by hand', () => {
  test.each(some(TAMPERINGS, 4))(
    '%s: it is found, and repaired from the source',
    async (_, statement, name, expected) => {
      const before = await rowsByTable();
      expect(await run(statement)).toBe(1);
      const found = await proof.verify(datasets, range);
      expect(kinds(of(found, name))).toEqual(expected);
      expect(of(found, name).verified).not.toEqual([range]);
      const { reports } = await proof.repair(datasets, range, found);
      for (const { verified, findings } of reports) {
        expect(findings).toEqual([]);
        expect(verified).toEqual([range]);
      }
      expect(await rowsByTable()).toEqual(before);
    },
  );
});

function rowsByTable(): Promise<{ name: string; rows: number }[]> {
  const tables = ['blocks', 'block_parents', 'transactions', 'messages', 'traces', 'trace_nodes'];
  return store.database.rows(
    sql.raw(
      tables
        .map((name) => `select '${name}' as name, count(*)::int as rows from ton.${name}`)
        .join(' union all '),
    ),
    z.object({ name: z.string(), rows: z.number() }),
  );
}

test('many rows are checked in pieces that fit into memory, cut at whole minutes', async () => {
  const most = 200;
  const pieces = await piecesOf(store.database, range, most);
  expect(union(...pieces.map((piece) => [piece]))).toEqual([range]);
  expect(lengthOf(pieces)).toBe(lengthOf([range]));
  for (const piece of pieces) {
    const rows = await countRows(store.database, messages, piece);
    expect(rows <= most || lengthOf([piece]) <= 60).toBe(true);
    expect(piece.from === range.from || piece.from % 60 === 0).toBe(true);
  }
  expect(pieces.length).toBeGreaterThan(3);
  expect(await piecesOf(store.database, range)).toEqual([range]);
});

describe('rows of a wrong response that nothing has proved', () => {
  const Block = z.object({ shard: z.string(), seqno: z.number(), second: z.coerce.number() });
  const certified = () => readVerified(store.database, { dataset: 'blocks', scope: '', pass: 0 });

  /** Blocks as copies of a stored one, each with its parent. */
  async function invent(
    made: readonly { workchain: number; shard: string; seqno: number; parent: string; second: number }[],
  ): Promise<void> {
    const given = sql`jsonb_to_recordset(${JSON.stringify(made)}::jsonb)
      as m (workchain int, shard text, seqno int, parent text, second int8)`;
    await store.database.run(sql`insert into ton.blocks select r.* from ${given},
      (select * from ton.blocks where workchain = 0 order by utime limit 1) b,
      jsonb_populate_record(null::ton.blocks, to_jsonb(b) || jsonb_build_object('utime', to_timestamp(m.second), 'workchain', m.workchain,
        'shard', m.shard, 'seqno', m.seqno, 'tx_count', 0, 'after_merge', false)) r`);
    await store.database.run(sql`insert into ton.block_parents
        (utime, workchain, shard, seqno, position, parent_workchain, parent_shard, parent_seqno)
      select to_timestamp(m.second), m.workchain, m.shard, m.seqno, 0, m.workchain, m.parent, m.seqno - 1 from ${given}`);
    for (const table of [blocks, block_parents]) await unseal(store.database, table, range);
    await run(`update etl.coverage set verified = '{}'`);
  }

  test('a branch from a stored block is surplus as a whole, and no second of it is proved', async () => {
    const [root] = await store.database.rows(
      sql`select shard, seqno, extract(epoch from utime)::int8 as second from ton.blocks
          where workchain = 0 and utime > to_timestamp(${range.from + 200}) order by utime, shard limit 1`,
      Block,
    );
    const { shard, seqno, second } = root!;
    const lowest = BigInt(`0x${shard}`) & -BigInt(`0x${shard}`);
    const half = (BigInt(`0x${shard}`) ^ lowest ^ (lowest / 2n)).toString(16).toUpperCase();
    const branch = [1, 2, 3].map((n) => ({
      workchain: 0,
      shard: half,
      seqno: seqno + n,
      parent: n === 1 ? shard : half,
      second: second + 10 * n,
    }));
    await invent(branch);
    const found = await proof.verify(datasets, range);
    expect(kinds(of(found, 'blocks'))).toEqual(['blocks: not_closed', 'blocks: unreached_block']);
    expect(await certified()).toEqual([{ from: second + 31, to: range.to }]);
    const { reports } = await proof.repair(datasets, range, found);
    for (const { verified } of reports) expect(verified).toEqual([range]);
  });

  test('a missing block is reported even if its child claims to be at the start of the index', async () => {
    const [child] = await store.database.rows(
      sql`select p.parent_shard as shard, p.parent_seqno as seqno, extract(epoch from p.utime)::int8 as second
          from ton.block_parents p where workchain = 0 and utime > to_timestamp(${range.from + 200}) order by utime, shard limit 1`,
      Block,
    );
    const { shard, seqno } = child!;
    await run(`update ton.blocks set masterchain_block_ref_seqno = 1 where (workchain, seqno) in (
      select workchain, seqno from ton.block_parents where (parent_workchain, parent_shard, parent_seqno) = (0, '${shard}', ${seqno}))`);
    for (const table of ['blocks', 'block_parents'])
      expect(
        await run(`delete from ton.${table} where (workchain, shard, seqno) = (0, '${shard}', ${seqno})`),
      ).toBeGreaterThan(0);
    for (const table of [blocks, block_parents]) await unseal(store.database, table, range);
    await run(`update etl.coverage set verified = '{}'`);
    const found = await proof.verify(datasets, range);
    expect(kinds(of(found, 'blocks'))).toContain('blocks: missing_block');
    const { reports } = await proof.repair(datasets, range, found);
    for (const { verified } of reports) expect(verified).toEqual([range]);
  });

  test('are removed even if they are too many to be checked one by one', async () => {
    const made = Array.from({ length: 5500 }, (_, n) => ({
      workchain: 7,
      shard: '8000000000000000',
      seqno: 10 * n + 10,
      parent: '8000000000000000',
      second: range.from + 100 + (n % 100),
    }));
    await invent(made);
    const found = await proof.verify(datasets, range);
    const { findings } = of(found, 'blocks');
    expect(findings.find(({ kind }) => kind === 'unreached_block')?.count).toBe(made.length);
    expect(await certified()).toEqual([{ from: range.from + 200, to: range.to }]);
    const { reports } = await proof.repair(datasets, range, found);
    for (const { verified } of reports) expect(verified).toEqual([range]);
  });
});

test('a missing transaction is no reason to believe a wrong link elsewhere', async () => {
  const Transaction = z.object({ hash: z.string(), second: z.coerce.number() });
  const [linked] = await store.database.rows(
    sql`select t.hash, extract(epoch from t.utime)::int8 as second from ton.transactions t
        join ton.transactions p on p.hash = t.prev_trans_hash where t.utime > to_timestamp(${range.from + 400})
        order by t.utime, t.lt, t.hash limit 1`,
    Transaction,
  );
  await run(`delete from ton.transactions where hash = (select hash from ton.transactions
    where utime > to_timestamp(${range.from + 100}) order by utime, lt, hash limit 1)`);
  await run(`update ton.transactions set prev_trans_lt = lt - 1, prev_trans_hash = hash, before_hash = hash
    where hash = '${linked!.hash}'`);
  const found = await proof.verify(datasets, range);
  expect(kinds(of(found, 'transactions'))).toContain('state-chain: missing_predecessor');
  const second = { from: linked!.second, to: linked!.second + 1 };
  expect(common(of(found, 'transactions').verified, [second])).toEqual([]);
  // Alone it is linked to nothing: that proves nothing about the link.
  const alone = of(await proof.verify(datasets, second), 'transactions');
  expect(common(alone.verified, [second])).toEqual([]);
  expect(kinds(alone)).toContain('state-chain: missing_predecessor');
  const { reports } = await proof.repair(datasets, range, found);
  for (const { verified } of reports) expect(verified).toEqual([range]);
});

describe('failures of a check', () => {
  const transactionsCheck = { dataset: 'transactions', scope: '' };

  test('a warning of the database fails it, with its text', async () => {
    await run(`create function etl.warn() returns int language plpgsql as
      $$ begin raise notice 'all is well'; raise warning 'index is corrupted'; return 1; end $$`);
    const step: CheckStep = {
      check: 'warned',
      stretch: range,
      run: (look) =>
        look(async (session): Promise<Result> => {
          return { findings: [], rows: await session.run(sql`select etl.warn()`) };
        }),
    };
    const { findings } = await runStep({ database: store.database, stop: never }, transactionsCheck, step);
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
    const asAnother: CheckStep = {
      ...step,
      run: (look) =>
        step.run((work) =>
          look(async (session) => {
            await session.run(sql`set local role sees_little`);
            return work(session);
          }),
        ),
    };
    await expect(
      runStep({ database: store.database, stop: never }, transactionsCheck, asAnother),
    ).rejects.toThrow('row-level security');
    await run(`drop policy little on ton.transactions; alter table ton.transactions disable row level security;
      drop owned by sees_little; drop role sees_little`);
  });

  test('rows of a detached partition are reported as missing, and none of their seconds is verified', async () => {
    const [part] = await store.database.rows(
      sql`select c.oid::regclass::text as name, pg_get_expr(c.relpartbound, c.oid) as bounds from pg_class c
          where c.oid = (select tableoid from ton.transactions limit 1)`,
      z.object({ name: z.string(), bounds: z.string() }),
    );
    await run(`alter table ton.transactions detach partition ${part!.name}`);
    const found = await proof.verify(datasets, range);
    expect(kinds(of(found, 'transactions'))).toContain('seal: vanished_rows_of_transactions');
    await run(`alter table ton.transactions attach partition ${part!.name} ${part!.bounds}`);
    const held = await store.database.rows(
      sql`select distinct extract(epoch from utime)::int8 as second from ton.transactions`,
      z.object({ second: z.coerce.number().transform(spanOfSecond) }),
    );
    const seconds = union(held.map(({ second }) => second));
    expect(common(of(found, 'transactions').verified, seconds)).toEqual([]);
    for (const { verified } of await proof.verify(datasets, range)) expect(verified).toEqual([range]);
  });
});

describe('changes during and after the checks', () => {
  const take = (name: string, { from, to }: Range) =>
    run(`update etl.coverage set covered = covered - '{[${from},${to})}'::int8multirange,
      verified = verified - '{[${from},${to})}'::int8multirange where dataset = '${name}'`);
  const verified = (name: string) => readVerified(store.database, { dataset: name, scope: '', pass: 0 });
  const onlyTraces = () => datasets.filter(({ name }) => name === 'traces');

  test('rows that another dataset brings into verified seconds are not verified by the checks before', async () => {
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
    await proof.cover(onlyTraces(), await proof.readable());
    alter = (_, response) => response;
    expect(lengthOf(without([range], await verified('transactions')))).toBe(1);
    const found = await proof.verify(datasets, range);
    expect(kinds(of(found, 'transactions'))).toContain('transactions: surplus_transactions');
    await proof.repair(datasets, range, found);
    expect(await verified('transactions')).toEqual([range]);
  });

  test('rows that another dataset brings during the checks are not verified by them, and the report says so', async () => {
    const [trace] = await store.database.rows(
      sql`select trace_id as id, extract(epoch from utime)::int8 as second from ton.traces
          order by utime, trace_id offset 90 limit 1`,
      z.object({ id: z.string(), second: z.coerce.number() }),
    );
    const { id, second } = trace!;
    await take('traces', { from: second, to: second + 1 });
    await run(`update etl.coverage set verified = '{}' where dataset = 'transactions'`);
    // Verification has run its checks of transactions, and is about to drop this.
    await run(`insert into etl.findings (dataset, span, row_span, table_name, row_key, differs, check_name, found_in)
      select 'transactions', second, second, 'transactions', 'x', 'y', 'messages', 'transactions' from (values ('[${range.from},${range.from + 1})'::int8range)) v (second)`);
    let verifying: Promise<Verified[]> | undefined;
    await store.database.transaction(async (session) => {
      await session.run(sql`select 1 from etl.findings where row_key = 'x' for update`);
      const onlyTransactions = datasets.filter(({ name }) => name === 'transactions');
      verifying = proof.verify(onlyTransactions, range);
      await untilOneWaits(store.database, session, '%findings%');
      alter = (path, response) => (path === '/api/v3/traces' ? withStranger(id, response) : response);
      await proof.cover(onlyTraces(), await proof.readable());
      alter = (_, response) => response;
    });
    const report = of(await verifying!, 'transactions');
    const open = without([range], await verified('transactions'));
    expect(open.length).toBeGreaterThan(0);
    expect([kinds(report), report.verified]).toEqual([[], without([range], open)]);
    const log = vi.spyOn(console, 'log').mockReturnValue();
    printReports({ range, reports: [report], causes: new Map(), compared: [], isShort: false }, 0);
    const printed = log.mock.calls.flat().join('\n');
    log.mockRestore();
    expect(printed).toMatch(
      /transactions: rows were written while the checks ran.*; run the same command again/,
    );
    const found = await proof.verify(datasets, range);
    expect(kinds(of(found, 'transactions'))).toContain('transactions: surplus_transactions');
    await proof.repair(datasets, range, found);
    expect(await verified('transactions')).toEqual([range]);
  });

  test('no open transaction of a user, and no analyze, delays a certificate or a commit', async () => {
    const second = { from: range.from + 300, to: range.from + 301 };
    await store.database.transaction(async (session) => {
      await session.run(sql`set local idle_in_transaction_session_timeout = 0`);
      await session.run(sql`lock table ton.transactions, ton.messages in share update exclusive mode`);
      await session.run(sql`lock table ton.blocks in row exclusive mode`);
      await take('blocks', second);
      await proof.cover(datasets, await proof.readable());
      for (const report of await proof.verify(datasets, range)) expect(report.verified).toEqual([range]);
    });
  });

  test('if a check depended on coverage that was removed meanwhile, it verifies nothing', async () => {
    const gone = { from: range.from + 200, to: range.from + 201 };
    await run(`update etl.coverage set verified = '{}' where dataset = 'traces'`);
    let verifying: Promise<Verified[]> | undefined;
    await store.database.transaction(async (session) => {
      // Transactions are verified by then, and traces are next.
      await session.run(sql`select 1 from etl.grades where dataset = 'transactions' for update`);
      verifying = proof.verify(onlyTraces(), range);
      await untilOneWaits(store.database, session, '%grades%');
      await take('transactions', gone);
    });
    const reports = await verifying!;
    expect(without([range], of(reports, 'transactions').verified)).toEqual([gone]);
    expect(without([range], of(reports, 'traces').verified)).toEqual([gone]);
    expect(without([range], await verified('traces'))).toEqual([gone]);
    await proof.cover(datasets, await proof.readable());
    for (const report of await proof.verify(datasets, range)) expect(report.verified).toEqual([range]);
  });
});
