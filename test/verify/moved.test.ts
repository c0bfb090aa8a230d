import { sql, type Table } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import { trace_nodes, traces } from '../../src/tables/ton/traces.ts';
import { proveRange } from '../../src/verify/prove.ts';
import { isWhollyVerified } from '../../src/verify/verify.ts';
import { unseal } from '../../src/write/seals.ts';
import { createPartitions, targetOf } from '../../src/write/target.ts';
import { common, formatTime, type Range } from '../../src/range.ts';
import type { TestStore } from '../support/database/database.ts';
import { expectProved, kindsOf, openNetworkProof, type Proof } from '../support/verify.ts';
import { some } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

let store: TestStore;
let proof: Proof;
/** Blocks, transactions, traces. */
let chain: Dataset[];
let range: Range;
let close: () => Promise<void>;

// One network for all: each test leaves it unchanged, because what it breaks is repaired.
beforeAll(async () => {
  ({
    store,
    proof,
    datasets: chain,
    range,
    close,
  } = await openNetworkProof({
    network: { start: START, duration: 400, seed: 8, load: 1, reshardEvery: 15 },
    datasets: ['blocks', 'transactions', 'traces'],
  }));
});
afterAll(() => close());

const run = (text: string) => store.database.run(sql.raw(text));

const certified = (dataset: string) => readVerified(store.database, { dataset, scope: '', pass: 0 });

/** Expects a new finding of transactions, which leaves its second without a certificate, and its repair. */
async function expectSeen(second: number, kind: string): Promise<void> {
  await run(`update etl.coverage set verified = '{}'`);
  const found = await proof.verify(chain, range);
  expect(kindsOf(found, 'transactions')).toContain(kind);
  expect(common(await certified('transactions'), [{ from: second, to: second + 1 }])).toEqual([]);
  await proof.repair(chain, range, found);
  await expectProved(proof, chain, range);
}

// Wrong rows from the source were proved by nothing.
test.for(some([5, -5], 1))('a trace that was moved by %i seconds is found, with its nodes', async (by) => {
  const [moved] = await store.database.rows(
    sql`select trace_id as name, extract(epoch from utime)::int8 as own,
          extract(epoch from utime)::int8 + ${by}::int as copied
        from ton.traces where utime > to_timestamp(${range.from + 200}) and transactions > 1
        order by utime, trace_id limit 1`,
    z.object({ name: z.string(), own: z.coerce.number(), copied: z.coerce.number() }),
  );
  for (const table of ['traces', 'trace_nodes'])
    await run(
      `update ton.${table} set utime = utime + interval '${by} seconds' where trace_id = '${moved!.name}'`,
    );
  for (const table of [traces, trace_nodes]) await unseal(store.database, table, range);
  await run(`update etl.coverage set verified = '{}'`);
  const middle = Math.max(moved!.own, moved!.copied);
  await proof.verify(chain, { from: range.from, to: middle });
  const found = await proof.verify(chain, { from: middle, to: range.to });
  expect(kindsOf(found, 'traces')).toContain('traces: misplaced_trace');
  for (const from of [moved!.own, moved!.copied])
    expect(common(await certified('traces'), [{ from, to: from + 1 }])).toEqual([]);
  await proof.repair(chain, range, await proof.verify(chain, range));
  await expectProved(proof, chain, range);
});

const MOVES = ['1 second', '-9 seconds', '1 day', '-1 day', '40 days', '-40 days'];

describe.for(['with its nodes', 'without its nodes'])('a trace that was moved %s', (how) => {
  test.for(some(MOVES, 1))('by %s is restored, and no copy of it stays', async (by) => {
    const tables = how === 'with its nodes' ? ['traces', 'trace_nodes'] : ['traces'];
    const [moved] = await store.database.rows(
      sql`select trace_id as name, extract(epoch from utime)::int8 as own,
            extract(epoch from utime + ${by}::interval)::int8 as copied
          from ton.traces where utime > to_timestamp(${range.from + 200}) and transactions > 1
          order by utime, trace_id limit 1`,
      z.object({ name: z.string(), own: z.coerce.number(), copied: z.coerce.number() }),
    );
    const { name, own, copied } = moved!;
    await createPartitions(store.database, 'month').ensure(
      [traces, trace_nodes],
      new Set([formatTime(copied)]),
    );
    const stored = () =>
      store.database.rows(
        sql`select 'trace' as of, trace_id, utime::text from ton.traces
            union all select tx_hash, trace_id, utime::text from ton.trace_nodes order by 1, 2, 3`,
        z.object({ of: z.string(), trace_id: z.string(), utime: z.string() }),
      );
    const before = await stored();
    for (const table of tables)
      await run(`update ton.${table} set utime = to_timestamp(${copied}) where trace_id = '${name}'`);
    for (const table of [traces, trace_nodes])
      for (const second of [own, copied])
        await unseal(store.database, table, { from: second, to: second + 1 });
    const found = await proof.verify(chain, range);
    expect(common(await certified('traces'), [{ from: own, to: own + 1 }])).toEqual([]);
    await proof.repair(chain, range, found);
    await expectProved(proof, chain, range);
    expect(await stored()).toEqual(before);
  });
});

test('a repair of the second to which a trace was moved restores it in its own second', async () => {
  const [moved] = await store.database.rows(
    sql`select trace_id as name, extract(epoch from utime)::int8 as own from ton.traces
        where utime > to_timestamp(${range.from + 150}) and transactions > 1 order by utime, trace_id limit 1`,
    z.object({ name: z.string(), own: z.coerce.number() }),
  );
  const { name, own } = moved!;
  await run(`update ton.traces set utime = utime + interval '90 seconds' where trace_id = '${name}'`);
  for (const table of [traces, trace_nodes]) await unseal(store.database, table, range);
  const later = { from: own + 60, to: range.to };
  await proof.repair(chain, later, await proof.verify(chain, later));
  await expectProved(proof, chain, range);
});

test.for(some([1, -1, 100, -100], 2))(
  'a copy of a transaction %i seconds away is removed, although no seal counts its second',
  async (by) => {
    const columns = await store.database.rows(
      sql`select column_name as name from information_schema.columns where table_schema = 'ton'
        and table_name = 'transactions' and is_generated = 'NEVER' and column_name <> 'utime'`,
      z.object({ name: z.string() }),
    );
    const names = columns.map(({ name }) => `"${name}"`).join();
    const stored = () =>
      store.database.rows(
        sql`select hash, utime::text from ton.transactions order by 1, 2`,
        z.object({ hash: z.string(), utime: z.string() }),
      );
    const before = await stored();
    const [copied] = await store.database.rows(
      sql.raw(`insert into ton.transactions (utime, ${names})
        select utime + interval '${by} seconds', ${names} from ton.transactions
        where utime > to_timestamp(${range.from + 150}) and lt > 0 order by utime, lt limit 1
        returning extract(epoch from utime)::int8 as second`),
      z.object({ second: z.coerce.number() }),
    );
    await unseal(store.database, transactions, range);
    await expectSeen(copied!.second, 'state-chain: doubled_transaction');
    expect(await stored()).toEqual(before);
  },
);

test('a tick of the chain is found under another account, even if it is the only one of both in the range', async () => {
  const [tick] = await store.database.rows(
    sql`select hash, extract(epoch from utime)::int8 as second from ton.transactions
        where in_msg_hash is null and utime > to_timestamp(${range.from}) order by utime, lt, hash limit 1`,
    z.object({ hash: z.string(), second: z.coerce.number() }),
  );
  const { hash, second } = tick!;
  await run(`update ton.transactions set account = '-1:${'1'.repeat(64)}' where hash = '${hash}'`);
  await unseal(store.database, transactions, range);
  await expectSeen(second, 'state-chain: other_account');
});

test('an external message is found if it is marked as sent by a transaction of another second', async () => {
  const [message] = await store.database.rows(
    sql`select m.hash, extract(epoch from m.utime)::int8 as second, t.hash as sender
        from ton.messages m join ton.transactions t on t.utime > m.utime + interval '5 seconds'
        where m.out_msg_tx_hash is null and m.source is null and m.utime > to_timestamp(${range.from + 20})
        order by m.utime, m.hash, t.utime, t.hash limit 1`,
    z.object({ hash: z.string(), second: z.coerce.number(), sender: z.string() }),
  );
  const { hash, second, sender } = message!;
  await run(`update ton.messages set out_msg_tx_hash = '${sender}' where hash = '${hash}'`);
  await unseal(store.database, messages, range);
  await expectSeen(second, 'messages: unsent_message');
});

interface MovedBlock {
  readonly workchain: number;
  readonly by: number;
  readonly how: 'moved' | 'doubled';
  /** With the links to its parents, or without. */
  readonly tables: readonly string[];
  /** True: only a part of what is covered is verified, and the block is moved out of that part. */
  readonly isPart: boolean;
}

const BLOCK = ['blocks'];
const LINKED = ['blocks', 'block_parents'];

/** Every copy lies outside of the verified seconds, most of them in a second that is not covered. */
const MOVED_BLOCKS: readonly MovedBlock[] = [-1, 0].flatMap((workchain) =>
  [3600, -3600, 1200, 90].flatMap((by) =>
    (['moved', 'doubled'] as const).flatMap((how) =>
      [BLOCK, LINKED].map((tables) => ({ workchain, by, how, tables, isPart: by === 90 })),
    ),
  ),
);

test.for(some(MOVED_BLOCKS, 1))(
  'a block of workchain $workchain that was $how by $by seconds is healed and proved by one run',
  async ({ workchain, by, how, tables, isPart }) => {
    const stored = () =>
      store.database.rows(
        sql`select utime::text, workchain, shard, seqno, null as parent from ton.blocks
            union all select utime::text, workchain, shard, seqno, parent_shard || parent_seqno from ton.block_parents
            order by 1, 2, 3, 4, 5`,
        z.record(z.string(), z.unknown()),
      );
    const before = await stored();
    await createPartitions(store.database, 'month').ensure(
      [blocks, block_parents],
      [range.from, range.to].map((second) => formatTime(second + by)),
    );
    const verified = isPart ? { from: range.from + 100, to: range.from + 250 } : range;
    const [block] = await store.database.rows(
      sql`select format('workchain = %s and shard = %L and seqno = %s', workchain, shard, seqno) as name from ton.blocks
          where workchain = ${workchain} and utime >= to_timestamp(${range.from + 190}) order by utime, shard limit 1`,
      z.object({ name: z.string() }),
    );
    for (const table of tables)
      await store.database.script(`
        create temp table copies as select * from ton.${table} where ${block!.name};
        update copies set utime = utime + interval '${by} seconds';
        ${how === 'moved' ? `delete from ton.${table} where ${block!.name};` : ''}
        insert into ton.${table} select * from copies;
        drop table copies;`);
    const options = { datasets: chain, range: verified, share: 0, repair: true, random: Math.random };
    const { reports } = await proveRange(proof.context, options);
    expect(
      reports.filter((report) => !isWhollyVerified(report, verified)).map(({ findings }) => findings),
    ).toEqual([]);
    expect(await store.database.rows(sql`select * from etl.refused`, z.unknown())).toEqual([]);
    expect(await stored()).toEqual(before);
    await expectProved(proof, chain, range);
  },
);

const ENDS = {
  'from outside': 'source is null',
  'to the outside': 'destination is null',
  'between accounts': 'source is not null and destination is not null',
} as const;

const MOVED_MESSAGES = (['from outside', 'to the outside', 'between accounts'] as const).flatMap((ends) =>
  ['1 hour', '-1 hour', '1 day', '-40 days'].map((by) => [ends, by] as const),
);

test.for(some(MOVED_MESSAGES, 1))(
  'a message %s that was moved by %s is restored, and no copy of it stays',
  async ([ends, by]) => {
    const stored = () =>
      store.database.rows(
        sql`select utime::text, hash from ton.messages order by 1, 2`,
        z.record(z.string(), z.unknown()),
      );
    const before = await stored();
    const [found] = await store.database.rows(
      sql`select hash, extract(epoch from utime)::int8 as own, extract(epoch from utime + ${by}::interval)::int8 as copied
        from ton.messages where ${sql.raw(ENDS[ends])} and utime > to_timestamp(${range.from + 100})
          and utime < to_timestamp(${range.to - 100}) order by utime, hash limit 1`,
      z.object({ hash: z.string(), own: z.coerce.number(), copied: z.coerce.number() }),
    );
    // The network sends no logs.
    if (found === undefined) return;
    const { hash, own, copied } = found;
    await createPartitions(store.database, 'month').ensure([messages], new Set([formatTime(copied)]));
    await run(
      `update ton.messages set utime = to_timestamp(${copied}) where hash = '${hash}' and utime = to_timestamp(${own})`,
    );
    for (const second of [own, copied])
      await unseal(store.database, messages, { from: second, to: second + 1 });
    await proof.repair(chain, range, await proof.verify(chain, range));
    await expectProved(proof, chain, range);
    expect(await stored()).toEqual(before);
  },
);

test('an outside message that another transaction received in a second that is not covered is no copy', async () => {
  const [message] = await store.database.rows(
    sql`select m.hash, extract(epoch from m.utime)::int8 as second from ton.messages m where m.source is null
          and m.utime > to_timestamp(${range.from + 100}) order by m.utime, m.hash limit 1`,
    z.object({ hash: z.string(), second: z.coerce.number() }),
  );
  const { hash, second } = message!;
  const later = second + 3600;
  const own = { utime: `to_timestamp(${later})`, in_msg_utime: `to_timestamp(${later})` };
  const other = { ...own, lt: 'lt + 1000000', hash: `'${'B'.repeat(43)}='` };
  const copy = (table: Table, name: string, where: string, values: Readonly<Record<string, string>>) => {
    const { columns } = targetOf(table);
    const read = columns.map((column) => values[column] ?? column);
    return run(`insert into ton.${name} (${columns.join(', ')}) select ${read.join(', ')} from ton.${name}
      where ${where} = '${hash}' and utime = to_timestamp(${second})`);
  };
  await copy(transactions, 'transactions', 'in_msg_hash', other);
  await copy(messages, 'messages', 'hash', own);
  await run(
    `update ton.transactions set total_fees = total_fees + 1 where in_msg_hash = '${hash}' and utime = to_timestamp(${second})`,
  );
  await proof.repair(chain, range, await proof.verify(chain, range));
  const [left] = await store.database.rows(
    sql`select count(*)::int as copies from ton.messages where hash = ${hash} and utime = to_timestamp(${later})`,
    z.object({ copies: z.number() }),
  );
  expect(left!.copies).toBe(1);
  for (const table of ['messages', 'transactions'])
    await run(`delete from ton.${table} where utime = to_timestamp(${later})`);
  await expectProved(proof, chain, range);
});

test.for([-1, 0])(
  'a wrong link of workchain %i is healed by a repair of the second of the block that it should name alone',
  async (workchain) => {
    const [link] = await store.database.rows(
      sql`select format('workchain = %s and shard = %L and seqno = %s', p.workchain, p.shard, p.seqno) as name,
          extract(epoch from b.utime)::int8 as second
          from ton.block_parents p join ton.blocks b
            on (b.workchain, b.shard, b.seqno) = (p.workchain, p.parent_shard, p.parent_seqno) and b.utime < p.utime
          where p.workchain = ${workchain} and p.utime >= to_timestamp(${range.from + 150}) order by p.utime, p.shard limit 1`,
      z.object({ name: z.string(), second: z.coerce.number() }),
    );
    const { name, second } = link!;
    expect(
      await run(`update ton.block_parents set parent_seqno = parent_seqno - 1 where ${name}`),
    ).toBeGreaterThan(0);
    await unseal(store.database, block_parents, range);
    const only = { from: second, to: second + 1 };
    // Blocks are certified from above, so nothing above is certified any longer.
    await run(`update etl.coverage set verified = '{}'`);
    const options = { datasets: chain, range: only, share: 0, repair: true, random: Math.random };
    const { reports } = await proveRange(proof.context, options);
    expect(
      reports.filter((report) => !isWhollyVerified(report, only)).map(({ findings }) => findings),
    ).toEqual([]);
    expect(await store.database.rows(sql`select * from etl.refused`, z.unknown())).toEqual([]);
    await expectProved(proof, chain, range);
  },
);
