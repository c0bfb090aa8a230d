import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { readVerified, removeRows, unverify, withdrawVerified } from '../../src/write/certificates.ts';
import { targetOf } from '../../src/write/target.ts';
import { replaceFindings } from '../../src/ledger/stored-findings.ts';
import { traces } from '../../src/tables/ton/traces.ts';
import type { Database, Session } from '../../src/postgres/database.ts';
import { action_accounts, action_transactions, actions } from '../../src/tables/ton/actions.ts';
import { block_parents } from '../../src/tables/ton/blocks.ts';
import { jetton_transfers } from '../../src/tables/ton/jettons-and-nfts.ts';
import { countToSeal, unseal } from '../../src/write/seals.ts';
import { isAbort } from '../../src/errors.ts';
import { common, type Range, stretchesOf, union, without } from '../../src/range.ts';
import { type Check, type CheckStep, type Result, JOINED } from '../../src/verify/checks/check.ts';
import { checksOf } from '../../src/verify/checks/every-check.ts';
import { runStep, verifyRange } from '../../src/verify/verify.ts';
import type { TestStore } from '../support/database/database.ts';
import { some } from '../support/thorough.ts';
import { openHoles, expectProved, kindsOf, openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

let store: TestStore;
let proof: Proof;
let all: Dataset[];
let range: Range;
let close: () => Promise<void>;

// One network for all: each test leaves it unchanged.
beforeAll(async () => {
  ({
    store,
    proof,
    datasets: all,
    range,
    close,
  } = await openNetworkProof({
    network: { start: START, duration: 420, seed: 19, load: 1, reshardEvery: 15 },
    datasets: ['blocks', 'transactions', 'traces', 'actions', 'jetton_transfers'],
  }));
  await proof.readAgain(all, range);
  await expectProved(proof, all, range);
});
afterAll(() => close());

const run = (text: string) => store.database.run(sql.raw(text));

const certified = (dataset: string) => readVerified(store.database, { dataset, scope: '', pass: 0 });

const at = (second: number): Range => ({ from: second, to: second + 1 });

/** Whether an analyst may rely on a second. */
async function isAsserted(dataset: string, second: number): Promise<boolean> {
  const asked = run(
    `select etl.assert_complete('${dataset}', to_timestamp(${second}), to_timestamp(${second + 1}), 'cross-checked')`,
  );
  return asked.then(
    () => true,
    () => false,
  );
}

/** The columns that a statement may write; other columns are derived from them. */
async function columnsOf(table: string): Promise<string> {
  const columns = await store.database.rows(
    sql`select column_name as name from information_schema.columns
      where table_schema = 'ton' and table_name = ${table} and is_generated = 'NEVER'`,
    z.object({ name: z.string() }),
  );
  return columns.map(({ name }) => name).join(', ');
}

/** The second of a row in the middle of the range. */
async function secondIn(table: string): Promise<number> {
  const [found] = await store.database.rows(
    sql.raw(`select extract(epoch from utime)::int8 as second from ton.${table}
      where utime > to_timestamp(${range.from + 180}) order by utime limit 1`),
    z.object({ second: z.coerce.number() }),
  );
  return found!.second;
}

/** Faults of a row that only a check sees which depends on another dataset. */
const WRONG: readonly (readonly [string, Dataset['name'], string, (second: number) => string])[] = [
  [
    'an invented action',
    'actions',
    'actions',
    (second) => `insert into ton.actions select r.* from (
        select * from ton.actions where utime = to_timestamp(${second}) order by trace_id, action_id limit 1) a,
      jsonb_populate_record(null::ton.actions, to_jsonb(a) || '{"trace_id": "made up"}') r`,
  ],
  [
    'an action with a transaction of no trace',
    'actions',
    'action_transactions',
    (second) => `update ton.action_transactions set tx_hash = 'made up' where ctid = (
      select ctid from ton.action_transactions where utime = to_timestamp(${second}) limit 1)`,
  ],
  [
    'a transfer in an unknown transaction',
    'jetton_transfers',
    'jetton_transfers',
    (second) => `update ton.jetton_transfers set transaction_hash = 'made up' where ctid = (
      select ctid from ton.jetton_transfers where utime = to_timestamp(${second}) limit 1)`,
  ],
];

/** The position of the missing link between blocks: everything below it depends on nothing. */
const HOLES = { above: 60, beside: 4, below: -60 } as const;

// Three of the nine have each hole and each wrong row.
const WRONG_BY_HOLE = some(
  Object.keys(HOLES).flatMap((hole) => WRONG.map((wrong) => ({ hole, wrong }))),
  3,
);

describe.for(Object.entries(HOLES))('with a hole %s', ([place, by]) => {
  const wrongs = WRONG_BY_HOLE.filter(({ hole }) => hole === place).map(({ wrong }) => wrong);
  test.for(wrongs)('%s has no certificate', async ([, dataset, table, alter]) => {
    const second = await secondIn(table);
    await run('create table public.kept_links as select * from ton.block_parents');
    await run(`create table public.kept_rows as select * from ton.${table}`);
    await run(alter(second));
    await run(`delete from ton.block_parents where (utime, workchain, shard, seqno, position) = (
      select utime, workchain, shard, seqno, position from ton.block_parents
      where utime >= to_timestamp(${second + by}) and workchain = 0 order by 1, 2, 3, 4, 5 limit 1)`);
    for (const of of [actions, action_transactions, action_accounts, jetton_transfers, block_parents])
      await unseal(store.database, of, range);
    await proof.verify(
      all.filter(({ name }) => name === dataset),
      range,
    );
    expect(common(await certified(dataset), [at(second)])).toEqual([]);
    expect(await isAsserted(dataset, second)).toBe(false);
    // Rows whose basis is missing have lost their certificate, whichever dataset was verified.
    const proved = await certified('blocks');
    for (const resting of ['transactions', 'traces', 'actions', 'jetton_transfers'])
      expect(without(await certified(resting), proved)).toEqual([]);
    await run(`truncate ton.${table}, ton.block_parents`);
    await run(`insert into ton.block_parents select * from public.kept_links`);
    await run(
      `insert into ton.${table} (${await columnsOf(table)}) select ${await columnsOf(table)} from public.kept_rows`,
    );
    await run(`drop table public.kept_links, public.kept_rows`);
    for (const of of [actions, action_transactions, action_accounts, jetton_transfers, block_parents])
      await unseal(store.database, of, range);
    await proof.readAgain(all, range);
    await expectProved(proof, all, range);
  });
});

test("if a check's source is no longer read, nothing is certified without it", async () => {
  const second = await secondIn('actions');
  const holes = [{ from: second - 5, to: second + 5 }];
  const opening = { stream: { dataset: 'traces', scope: '', pass: 0 }, holes };
  await openHoles(store, opening);
  const found = await proof.verify(
    all.filter(({ name }) => name === 'actions'),
    range,
  );
  expect(kindsOf(found, 'actions')).toContain('actions: no_proved_traces');
  expect(without([range], await certified('actions'))).toEqual(holes);
  await proof.cover(all, await proof.readable());
  await expectProved(proof, all, range);
});

test('if it was never read, two readings are enough', async () => {
  await run(`create table public.kept as select * from etl.coverage`);
  await run(
    `create table public.kept_pages as select * from etl.pages where dataset in ('traces', 'transactions')`,
  );
  await run(`delete from etl.coverage where dataset in ('traces', 'transactions');
    delete from etl.pages where dataset in ('traces', 'transactions')`);
  const found = await proof.verify(
    all.filter(({ name }) => name === 'actions' || name === 'jetton_transfers'),
    range,
  );
  for (const { findings, verified } of found) expect([findings, verified]).toEqual([[], [range]]);
  await run(`delete from etl.coverage; insert into etl.coverage select * from public.kept;
    insert into etl.pages overriding system value select * from public.kept_pages; drop table public.kept, public.kept_pages`);
  await expectProved(proof, all, range);
});

/** Lets a check skip seconds that it reports as checked, until the test is over. */
function passOver(check: Check, passed: readonly Range[]) {
  const steps = check.steps.bind(check);
  return vi.spyOn(check, 'steps').mockImplementation(async (context, input) => {
    const covered = without(input.covered, passed);
    const looked = await steps(context, { ...input, covered, stretches: stretchesOf(covered, JOINED) });
    const run: CheckStep['run'] = async (look) => {
      const results: Result[] = [];
      for (const step of looked) results.push(await step.run(look));
      const of = <T>(part: (result: Result) => readonly T[]) => results.flatMap(part);
      return {
        rows: 0,
        findings: of(({ findings }) => findings),
        readRows: of(({ readRows = [] }) => readRows),
      };
    };
    return (await steps(context, input)).map((step) => ({ ...step, run }));
  });
}

/** Seconds of a part of the range in which a dataset has rows. */
async function secondsIn(table: string, { from, to }: Range): Promise<Range[]> {
  const found = await store.database.rows(
    sql.raw(`select distinct extract(epoch from utime)::int8 as second from ton.${table}
      where utime >= to_timestamp(${from}) and utime < to_timestamp(${to}) order by 1`),
    z.object({ second: z.coerce.number() }),
  );
  return union(found.map(({ second }) => at(second)));
}

const DATASETS = ['blocks', 'transactions', 'traces', 'actions', 'jetton_transfers'];

const PARTS: Readonly<Record<string, (second: number) => Range>> = {
  'at the end': () => ({ from: range.to - 70, to: range.to }),
  'in one second': at,
  altogether: () => range,
};

// Five of the fifteen have each dataset.
const PARTS_BY_DATASET = some(
  DATASETS.flatMap((dataset) => Object.entries(PARTS).map((part) => ({ dataset, part }))),
  5,
);

describe.for(DATASETS)('rows of %s that a check skips', (dataset) => {
  const parts = PARTS_BY_DATASET.filter((chosen) => chosen.dataset === dataset).map(({ part }) => part);
  test.for(parts)('%s have no certificate', async ([, partOf]) => {
    const part = partOf(await secondIn(dataset));
    const own = all.filter(({ name }) => name === dataset);
    const checks = checksOf(own[0]!.job).filter(({ name }) => !WITHOUT_ROWS.has(name));
    const rows = await secondsIn(dataset, part);
    expect(Math.min(rows.length, checks.length)).toBeGreaterThan(0);
    for (const check of checks) {
      await expectProved(proof, own, range);
      const passing = passOver(check, [part]);
      const found = await proof.verify(own, range).finally(() => passing.mockRestore());
      expect(kindsOf(found, dataset)).toContain(`${check.name}: rows_not_held`);
      expect(common(await certified(dataset), rows)).toEqual([]);
    }
    await expectProved(proof, all, range);
  });
});

/** Checks that read no rows: of unavailable data, of the counts themselves, and of another reading. */
const WITHOUT_ROWS = new Set(['quarantine', 'seal', 'second-reading']);

test('a row that came after a check, and that another verification has counted, has no certificate', async () => {
  const second = await secondIn('actions');
  const own = all.filter(({ name }) => name === 'actions');
  const check = checksOf(own[0]!.job).find(({ name }) => name === 'actions')!;
  const steps = check.steps.bind(check);
  const late = vi.spyOn(check, 'steps').mockImplementation(async (context, input) =>
    (await steps(context, input)).map((step) => ({
      ...step,
      async run(look) {
        const result = await step.run(look);
        await run(WRONG[0]![3](second));
        await unseal(store.database, actions, at(second));
        await countToSeal(store.database, actions, range);
        return result;
      },
    })),
  );
  const found = await proof.verify(own, range).finally(() => late.mockRestore());
  expect(kindsOf(found, 'actions')).toEqual(['actions: rows_not_held']);
  expect(common(await certified('actions'), [at(second)])).toEqual([]);
  await run(`delete from ton.actions where trace_id = 'made up'`);
  await expectProved(proof, all, range);
});

/** The same database, with a counter of its statements. */
function counting(database: Database): { readonly database: Database; readonly statements: () => number } {
  let statements = 0;
  const counted = <T extends Session>(session: T): T => ({
    ...session,
    rows: (query, row) => {
      statements += 1;
      return session.rows(query, row);
    },
    run: (query) => {
      statements += 1;
      return session.run(query);
    },
  });
  const of = counted(database);
  return {
    database: {
      ...of,
      transaction: (work, how) => database.transaction((session) => work(counted(session)), how),
    },
    statements: () => statements,
  };
}

describe('with hundreds of missing seconds', () => {
  const oddSeconds = () =>
    Array.from({ length: Math.floor((range.to - range.from) / 2) - 1 }, (_, at) => ({
      from: range.from + 2 * at + 1,
      to: range.from + 2 * at + 2,
    }));

  async function statementsOf(holes: readonly Range[], dataset: string): Promise<[number, Range[]]> {
    await run(`create table public.kept as select * from etl.coverage`);
    const stream = streamOf(all.find(({ name }) => name === dataset)!);
    await openHoles(store, { stream, holes });
    const { database, statements } = counting(store.database);
    const reports = await verifyRange({ ...proof.context, database }, all, range);
    const wrong = reports
      .flatMap(({ findings }) => findings)
      .filter(({ kind }) => !kind.startsWith('no_proved') && kind !== 'read_once');
    expect(wrong).toEqual([]);
    const covered = await readCoverage(store.database, stream);
    const verified = await certified(dataset);
    expect(without(covered, verified)).toEqual([]);
    await run(
      `delete from etl.coverage; insert into etl.coverage select * from public.kept; drop table public.kept`,
    );
    return [statements(), verified];
  }

  test.for(some(['transactions', 'traces', 'actions', 'jetton_transfers'], 1))(
    'of %s, verification runs no more statements than with one',
    async (dataset) => {
      const holes = oddSeconds();
      const [one] = await statementsOf(holes.slice(0, 1), dataset);
      const [many, verified] = await statementsOf(holes, dataset);
      expect(holes.length).toBeGreaterThan(150);
      expect(verified).toHaveLength(holes.length + 1);
      expect(many).toBeLessThanOrEqual(one + 20);
    },
  );

  test('wrong rows in the seconds between are still found', async () => {
    await run(`create table public.kept as select * from etl.coverage`);
    const holes = oddSeconds();
    const stream = { dataset: 'transactions', scope: '', pass: 0 };
    await openHoles(store, { stream, holes });
    const [hit] = await store.database.rows(
      sql.raw(`select hash, extract(epoch from utime)::int8 as second from ton.transactions
        where utime > to_timestamp(${range.from + 150}) and (extract(epoch from utime)::int8 - ${range.from}) % 2 = 0
          and description_type = 'ord' and after_balance is not null order by utime, hash limit 1`),
      z.object({ hash: z.string(), second: z.coerce.number() }),
    );
    const { hash, second } = hit!;
    await run(`update ton.transactions set total_fees = total_fees + 1 where hash = '${hash}'`);
    const found = await proof.verify(all, range);
    expect(kindsOf(found, 'transactions')).toContain('books: unbalanced_ord');
    for (const dataset of ['transactions', 'traces', 'actions', 'jetton_transfers'])
      expect(common(await certified(dataset), [at(second)])).toEqual([]);
    await run(`update ton.transactions set total_fees = total_fees - 1 where hash = '${hash}'`);
    await run(
      `delete from etl.coverage; insert into etl.coverage select * from public.kept; drop table public.kept`,
    );
    await expectProved(proof, all, range);
  });
});

describe('evidence that is lost takes the certificates with it that depend on it, in the same transaction', () => {
  const hole = (second: number): Range => ({ from: second - 2, to: second + 2 });
  const LOSSES: readonly (readonly [string, string, (lost: Range) => Promise<unknown>])[] = [
    [
      'a repair reads transactions again',
      'transactions',
      (lost) => openHoles(store, { stream: { dataset: 'transactions', scope: '', pass: 0 }, holes: [lost] }),
    ],
    [
      'another reading of blocks differs',
      'blocks',
      (lost) => withdrawVerified(store.database, { dataset: 'blocks', scope: '', pass: 0 }, lost),
    ],
    [
      'a row of traces is removed',
      'traces',
      async ({ from, to }) => {
        const target = targetOf(traces);
        const gone = sql`delete from ton.traces t where t.utime >= to_timestamp(${from}) and t.utime < to_timestamp(${to}) and false`;
        await store.database.transaction(async (session) => {
          const { seconds } = { ...(await removeRows(session, target, gone)), seconds: `{[${from},${to})}` };
          await unverify(session, [{ target, seconds }]);
        });
      },
    ],
    [
      'a check found a wrong transaction',
      'transactions',
      async (lost) => {
        const row = { table: 'transactions', key: 'made up', span: lost, differs: 'wrong', datasets: [] };
        const found = { check: 'books', examined: [], rows: [row] };
        const stream = { dataset: 'transactions', scope: '' };
        await replaceFindings(store.database, { stream, began: new Date().toISOString(), checks: [found] });
        await run(`delete from etl.findings where row_key = 'made up'`);
      },
    ],
  ];

  test.for(LOSSES)('if %s', async ([, dataset, lose]) => {
    const lost = hole(await secondIn('actions'));
    await lose(lost);
    const dependents = { blocks: 4, transactions: 3, traces: 1 }[dataset] ?? 0;
    const chain = ['actions', 'traces', 'jetton_transfers', 'transactions', 'blocks'];
    const kept = await Promise.all(chain.map(async (name) => common(await certified(name), [lost])));
    expect(kept.filter((spans) => spans.length === 0)).toHaveLength(dependents + 1);
    expect(common(await certified('actions'), [lost])).toEqual([]);
    expect(common(await certified(dataset), [lost])).toEqual([]);
    expect(without(await certified('traces'), await certified('actions'))).toEqual([]);
    await proof.cover(all, await proof.readable());
    await proof.readAgain(all, range);
    await expectProved(proof, all, range);
  });

  test('but what retention drops was proved before', async () => {
    const { from } = range;
    await run(`create table public.kept as select * from etl.coverage`);
    await run(
      `insert into etl.settings (name, value) values ('floors', '{"datasets": {"traces": ${from + 60}}, "tables": {}}')`,
    );
    await run(`update etl.coverage set covered = covered - '{[0,${from + 90})}', verified = verified - '{[0,${from + 90})}'
      where dataset = 'traces'`);
    expect(without([range], await certified('actions'))).toEqual([{ from: from + 60, to: from + 90 }]);
    await run(`delete from etl.settings where name = 'floors'`);
    await run(
      `delete from etl.coverage; insert into etl.coverage select * from public.kept; drop table public.kept`,
    );
    await expectProved(proof, all, range);
  });

  test('even if the verification that finds it ends before it checks the others', async () => {
    const second = await secondIn('actions');
    await run(`create table public.kept as
      select * from ton.transactions where utime >= to_timestamp(${second}) order by utime, hash limit 1`);
    await run(`delete from ton.transactions where hash in (select hash from public.kept)`);
    const stopping = new AbortController();
    const stop = { finishing: stopping.signal, leaving: new AbortController().signal };
    const { database } = store;
    const stoppable: Database = {
      ...database,
      transaction: async (work, how) => {
        const done = await database.transaction(work, how);
        if ((await certified('transactions')).length > 1) stopping.abort();
        return done;
      },
    };
    await expect(verifyRange({ ...proof.context, database: stoppable, stop }, all, range)).rejects.toThrow();
    const proved = await certified('transactions');
    expect(proved.length).toBeGreaterThan(1);
    for (const dependent of ['traces', 'jetton_transfers'])
      expect(without(await certified(dependent), proved)).toEqual([]);
    expect(without(await certified('actions'), await certified('traces'))).toEqual([]);
    const columns = await columnsOf('transactions');
    await run(
      `insert into ton.transactions (${columns}) select ${columns} from public.kept; drop table public.kept`,
    );
    await expectProved(proof, all, range);
  });
});

describe('when it is aborted', () => {
  test('verification cancels the statement that runs', async () => {
    const stopping = new AbortController();
    const stop = { finishing: stopping.signal, leaving: new AbortController().signal };
    const marked = () =>
      store.database.rows(
        sql`select state from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid() and state = 'active'`,
        z.object({ state: z.string() }),
      );
    const step = runStep(
      { database: store.database, stop },
      { dataset: 'transactions', scope: '' },
      {
        check: 'slow',
        stretch: range,
        run: (look) =>
          look(async (session): Promise<Result> => {
            return { findings: [], rows: await session.run(sql`select pg_sleep(600)`) };
          }),
      },
    ).catch((error: unknown) => error);
    await expect.poll(async () => (await marked()).length).toBe(1);
    stopping.abort();
    expect(isAbort(await step)).toBe(true);
    expect(await marked()).toEqual([]);
  });

  test('it begins no other check, and leaves certificates unchanged', async () => {
    const stopping = new AbortController();
    const stop = { finishing: stopping.signal, leaving: new AbortController().signal };
    const before = await certified('transactions');
    const { database } = store;
    let looks = 0;
    const stoppable: Database = {
      ...database,
      transaction: (work, how) => {
        looks += 1;
        if (looks === 8) stopping.abort();
        return database.transaction(work, how);
      },
    };
    await expect(verifyRange({ ...proof.context, database: stoppable, stop }, all, range)).rejects.toThrow();
    expect(looks).toBeLessThan(20);
    expect(await certified('transactions')).toEqual(before);
    await expectProved(proof, all, range);
  });
});
