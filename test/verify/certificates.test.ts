import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { streamOf } from '../../src/crawl/streams/planner.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { confirmDue, readVerified, setVerified, readLastWrite } from '../../src/write/certificates.ts';
import { readFindings } from '../../src/ledger/stored-findings.ts';
import { block_parents, blocks } from '../../src/tables/ton/blocks.ts';
import { jetton_transfers } from '../../src/tables/ton/jettons-and-nfts.ts';
import { messages, transactions } from '../../src/tables/ton/transactions.ts';
import { trace_nodes, traces } from '../../src/tables/ton/traces.ts';
import { columnsToImport, commitImport } from '../../src/write/commit-import.ts';
import { createPartitions, targetOf } from '../../src/write/target.ts';
import { unseal } from '../../src/write/seals.ts';
import { release } from '../../src/write/commit.ts';
import { proveRange } from '../../src/verify/prove.ts';
import { verifyRange } from '../../src/verify/verify.ts';
import { common, type Range, without } from '../../src/range.ts';
import { WrongDatabaseError } from '../../src/errors.ts';
import type { TestStore } from '../support/database/database.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { openHoles, expectProved, kindsOf, openNetworkProof, type Proof } from '../support/verify.ts';
import { thorough } from '../support/thorough.ts';
import type { Table } from '../../src/dataset/declaration/record.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

const TransferPage = z.object({ jetton_transfers: z.array(z.unknown()) });

let store: TestStore;
let simulator: Simulator;
let proof: Proof;
/** Blocks, transactions, traces. */
let chain: Dataset[];
let transfers: Dataset[];
let range: Range;
let close: () => Promise<void>;

// One network for all: each test leaves it unchanged, because what it breaks is repaired.
beforeAll(async () => {
  const opened = await openNetworkProof({
    network: { start: START, duration: 400, seed: 8, load: 1, reshardEvery: 15 },
    datasets: ['blocks', 'transactions', 'traces', 'jetton_transfers'],
  });
  ({ store, simulator, proof, range, close } = opened);
  transfers = opened.datasets.filter(({ name }) => name === 'jetton_transfers');
  chain = opened.datasets.filter(({ name }) => name !== 'jetton_transfers');
  await proof.readAgain(transfers, range);
});
afterAll(() => close());

const run = (text: string) => store.database.run(sql.raw(text));

const certified = (dataset: string) => readVerified(store.database, { dataset, scope: '', pass: 0 });

describe('rows in two adjacent ranges that are verified one by one', () => {
  const Copied = z.object({ name: z.string(), own: z.coerce.number(), copied: z.coerce.number() });

  /** Verifies both ranges, and repairs the second: neither second of the copies is certified in between. */
  async function expectFound(
    name: string,
    only: Dataset[],
    { own, copied }: z.infer<typeof Copied>,
    kind: string,
  ) {
    const later = { from: copied, to: range.to };
    await proof.verify(only, { from: range.from, to: copied });
    const found = await proof.verify(only, later);
    expect(kindsOf(found, name)).toContain(kind);
    for (const from of [own, copied])
      expect(common(await certified(name), [{ from, to: from + 1 }])).toEqual([]);
    await proof.repair(only, later, found);
    await expectProved(proof, chain, range);
  }

  test('a block that is stored twice, once in each, is found', async () => {
    const [block] = await store.database.rows(
      sql`select x.workchain || ' ' || x.shard || ' ' || x.seqno as name,
            extract(epoch from x.utime)::int8 as own, extract(epoch from p.utime)::int8 as copied
          from ton.blocks x join ton.block_parents p
            on (p.parent_workchain, p.parent_shard, p.parent_seqno) = (x.workchain, x.shard, x.seqno)
          where x.tx_count = 0 and p.utime > x.utime and x.utime > to_timestamp(${range.from + 100})
          order by x.utime limit 1`,
      Copied,
    );
    for (const table of ['blocks', 'block_parents'])
      await run(`insert into ton.${table} select c.* from ton.${table} t, jsonb_populate_record(t,
          jsonb_build_object('utime', to_timestamp(${block!.copied}))) c
        where t.utime = to_timestamp(${block!.own}) and concat_ws(' ', t.workchain, t.shard, t.seqno) = '${block!.name}'`);
    for (const table of [blocks, block_parents]) await unseal(store.database, table, range);
    await run(`update etl.coverage set verified = '{}'`);
    await expectFound(
      'blocks',
      chain.filter(({ name }) => name === 'blocks'),
      block!,
      'blocks: doubled_block',
    );
  });

  test('a transaction that is a part of two traces is found', async () => {
    const [edge] = await store.database.rows(
      sql`select o.tx_hash as name, extract(epoch from o.utime)::int8 as own, extract(epoch from e.utime)::int8 as copied
          from ton.trace_nodes o, ton.trace_nodes e
          where o.utime between to_timestamp(${range.from + 200}) and to_timestamp(${range.from + 202})
            and e.utime between to_timestamp(${range.from + 210}) and to_timestamp(${range.from + 220})
            and e.parent_tx_hash is not null order by o.utime, o.tx_hash, e.utime, e.tx_hash limit 1`,
      Copied,
    );
    await run(`update ton.trace_nodes set tx_hash = '${edge!.name}' where (utime, trace_id, tx_hash) = (
      select utime, trace_id, tx_hash from ton.trace_nodes where utime = to_timestamp(${edge!.copied})
        and parent_tx_hash is not null order by tx_hash limit 1)`);
    await unseal(store.database, trace_nodes, range);
    await run(`update etl.coverage set verified = '{}'`);
    await expectFound('traces', chain, edge!, 'traces: doubled_node');
  });
});

test('a missing out message is reported even if retention has dropped the message received', async () => {
  const [sender] = await store.database.rows(
    sql`select t.hash, extract(epoch from t.utime)::int8 as second from ton.transactions t
        where t.in_msg_utime < t.utime and t.utime > to_timestamp(${range.from + 200})
          and exists (select 1 from ton.messages m where m.out_msg_tx_hash = t.hash)
        order by t.utime, t.hash limit 1`,
    z.object({ hash: z.string(), second: z.coerce.number() }),
  );
  const { hash, second } = sender!;
  await run(`delete from ton.messages where out_msg_tx_hash = '${hash}'`);
  await run(`insert into etl.settings (name, value)
    values ('floors', '{"datasets": {}, "tables": {"messages": ${second}}}')`);
  await unseal(store.database, messages, range);
  const found = await proof.verify(chain, { from: second, to: range.to });
  await run(`delete from etl.settings where name = 'floors'`);
  expect(kindsOf(found, 'transactions')).toEqual(
    expect.arrayContaining([expect.stringMatching(/^messages: (missing_out|unlisted)/) as unknown]),
  );
  await proof.repair(chain, range, await proof.verify(chain, range));
  await expectProved(proof, chain, range);
});

test('two surplus copies of a row are two findings: each is remembered until its own second was checked', async () => {
  const seconds = [range.from + 200, range.from + 330];
  const [copied] = await store.database.rows(
    sql`select transaction_hash as hash from ton.jetton_transfers order by utime, transaction_hash limit 1`,
    z.object({ hash: z.string() }),
  );
  const { hash } = copied!;
  const names = sql.raw(targetOf(jetton_transfers).columns.join(', '));
  const values = sql.raw(
    targetOf(jetton_transfers)
      .columns.map((name) => `c.${name}`)
      .join(', '),
  );
  await store.database.run(sql`insert into ton.jetton_transfers (${names})
    select ${values} from ton.jetton_transfers t, json_array_elements_text(${JSON.stringify(seconds)}::json) as s (second),
      jsonb_populate_record(t, jsonb_build_object('utime', to_timestamp(s.second::int8))) c
    where t.transaction_hash = ${hash}`);
  await unseal(store.database, jetton_transfers, range);
  const compare = (span: Range, repair: boolean) =>
    proveRange(proof.context, { datasets: transfers, range: span, share: 1, repair, random: Math.random });
  const known = async () =>
    (await readFindings(store.database, streamOf(transfers[0]!), [range]))
      .filter(({ check }) => check === 'deep')
      .flatMap(({ rows }) => rows.map(({ span }) => span.from));
  await compare(range, false);
  expect(await known()).toEqual(seconds);
  const [first, second] = seconds.map((from) => ({ from, to: from + 1 }));
  await compare(first!, true);
  expect(await known()).toEqual([second!.from]);
  expect(common(await certified('jetton_transfers'), [second!])).toEqual([]);
  await compare(second!, true);
  expect(await known()).toEqual([]);
  await proof.readAgain(transfers, range);
  await expectProved(proof, transfers, range);
});

test('seconds that were uncovered and read again since the checks began are not verified by them', async () => {
  const only = chain.filter(({ name }) => name === 'blocks');
  const stream = streamOf(only[0]!);
  const tables = [blocks];
  const anew = { from: range.from + 100, to: range.from + 110 };
  await proof.verify(only, range);
  const lastWrite = await readLastWrite(store.database, tables);
  const surplus = [{ table: blocks, span: anew }];
  await openHoles(store, { stream, holes: [anew], surplus });
  await proof.cover(only, await proof.readable());
  const verdict = { good: [range], bad: [], lastWrite, readRows: [] };
  await setVerified(store.database, { stream, tables }, verdict);
  const verified = () => readVerified(store.database, stream);
  expect(without([range], await verified())).toEqual([anew]);
  const later = await readLastWrite(store.database, tables);
  await setVerified(store.database, { stream, tables }, { ...verdict, lastWrite: later });
  expect(await verified()).toEqual([range]);
});

test('seconds that were emptied and read again since the checks began are not verified by them either', async () => {
  const stream = streamOf(transfers[0]!);
  const tables = [jetton_transfers];
  const minute = { from: START + 120, to: START + 180 };
  await proof.readAgain(transfers, range);
  await proof.verify(transfers, range);
  const lastWrite = await readLastWrite(store.database, tables);
  const surplus = [{ table: jetton_transfers, span: minute }];
  await openHoles(store, { stream, holes: [minute], surplus });
  // The source returned no rows for it.
  await run(
    `update etl.coverage set covered = covered + '{[${minute.from},${minute.to})}' where dataset = 'jetton_transfers'`,
  );
  await setVerified(store.database, { stream, tables }, { good: [range], bad: [], lastWrite, readRows: [] });
  expect(common(await readVerified(store.database, stream), [minute])).toEqual([]);
  await openHoles(store, { stream, holes: [minute], surplus });
  await proof.cover(transfers, await proof.readable());
  await proof.readAgain(transfers, range);
  expect((await proof.verify(transfers, range)).at(-1)?.verified).toEqual([range]);
});

test('seconds that were uncovered since the checks began and read once since are not cross-checked, even if nothing changed', async () => {
  const stream = streamOf(transfers[0]!);
  const anew = { from: range.from + 100, to: range.from + 110 };
  await proof.readAgain(transfers, range);
  await expectProved(proof, transfers, range);
  await store.database.run(sql`update etl.coverage set verified = '{}' where dataset = ${stream.dataset}`);
  // Another process reads these seconds again after the checks, and before anything is certified.
  let isChecked = false;
  const transaction: TestStore['database']['transaction'] = async (work, how) => {
    const isCheck = how?.isSnapshot === true;
    if (isChecked && !isCheck) {
      isChecked = false;
      await openHoles(store, { stream, holes: [anew] });
      await proof.cover(transfers, await proof.readable());
    }
    isChecked = isCheck;
    return store.database.transaction(work, how);
  };
  const context = { ...proof.context, jobs: transfers, database: { ...store.database, transaction } };
  const found = await verifyRange(context, transfers, range);
  expect(without([range], await certified(stream.dataset))).toEqual([anew]);
  expect(without([range], found.at(-1)?.verified ?? [])).toEqual([anew]);
  await proof.readAgain(transfers, range);
  await expectProved(proof, transfers, range);
});

test('a trace whose transactions were uncovered since the checks began is not proved, even if it ends elsewhere', async () => {
  const [trace] = await store.database.rows(
    sql`select extract(epoch from e.utime)::int8 as own, extract(epoch from t.utime)::int8 as began
        from ton.trace_nodes e join ton.transactions t on t.hash = e.tx_hash
        where t.utime < e.utime and t.utime > to_timestamp(${range.from + 100}) order by t.utime, e.utime limit 1`,
    z.object({ own: z.coerce.number(), began: z.coerce.number() }),
  );
  await proof.verify(chain, range);
  const tables = [traces, trace_nodes];
  const lastWrite = await readLastWrite(store.database, tables);
  const holes = [{ from: trace!.began, to: trace!.began + 1 }];
  const own = { from: trace!.own, to: trace!.own + 1 };
  const stream = (dataset: string) => ({ dataset, scope: '', pass: 0 });
  const opening = { stream: stream('transactions'), holes };
  await openHoles(store, opening);
  expect(common(await certified('traces'), [own])).toEqual([]);
  await setVerified(
    store.database,
    { stream: stream('traces'), tables },
    { good: [range], bad: [], lastWrite, readRows: [] },
  );
  expect(common(await certified('traces'), [own])).toEqual([]);
  await proof.cover(chain, await proof.readable());
  await expectProved(proof, chain, range);
});

test('an older program certifies nothing if a newer one has migrated the database', async () => {
  const stream = streamOf(transfers[0]!);
  const tables = [jetton_transfers];
  await run(`update etl.coverage set verified = '{}' where dataset = 'jetton_transfers'`);
  const lastWrite = await readLastWrite(store.database, tables);
  await run(`insert into etl.migrations (hash, created_at) values ('newer', 0)`);
  const certifying = setVerified(
    store.database,
    { stream, tables },
    { good: [range], bad: [], lastWrite, readRows: [] },
  );
  await expect(certifying).rejects.toThrow(WrongDatabaseError);
  const reading = { first: stream, ranges: [range], ageSeconds: 0, tables, lastWrite };
  await expect(confirmDue(store.database, reading)).rejects.toThrow(WrongDatabaseError);
  await run(`delete from etl.migrations where hash = 'newer'`);
  expect(await certified('jetton_transfers')).toEqual([]);
  await expectProved(proof, transfers, range);
});

/** A stored row as text, and its second. */
async function storedRow(table: string, condition: string) {
  const [stored] = await store.database.rows(
    sql.raw(`select extract(epoch from utime)::int8 as second,
          (select jsonb_object_agg(key, value) from jsonb_each_text(to_jsonb(t))) as row from ton.${table} t
        where utime > to_timestamp(${range.from + 100}) and ${condition} order by utime limit 1`),
    z.object({ second: z.coerce.number(), row: z.record(z.string(), z.string().nullable()) }),
  );
  return stored!;
}

/** Writes a row as an import from a lake does. */
async function bring(table: Table, row: Readonly<Record<string, string | null>>): Promise<void> {
  const escaped = (text: string) =>
    text.replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r');
  const line = columnsToImport(table).map((name) => (row[name] == null ? '\\N' : escaped(row[name])));
  await commitImport(store.database, createPartitions(store.database, 'month'), {
    rows: [{ table, pieces: () => [Buffer.from(`${line.join('\t')}\n`)] }],
    covered: [],
    log: { request: 'import lake', worker: 'test' },
  });
}

const at = (second: number): Range => ({ from: second, to: second + 1 });

describe('a row that comes into a verified second later', () => {
  test('removes its certificate if it is another version of a stored row', async () => {
    await proof.repair(chain, range, await proof.verify(chain, range));
    const { second, row } = await storedRow('traces', 'true');
    expect(common(await certified('traces'), [at(second)])).toHaveLength(1);
    await bring(traces, { ...row, messages: '99' });
    expect(await run(`select 1 from ton.traces where messages = 99`)).toBe(1);
    expect(common(await certified('traces'), [at(second)])).toEqual([]);
    await run(`update ton.traces set messages = ${Number(row['messages'])} where messages = 99`);
    await expectProved(proof, chain, range);
  });

  test('removes its certificate if it has a value that the stored row lacked', async () => {
    const balance = 'before_balance = null, after_balance = null, before_hash = null, after_hash = null';
    const { second, row } = await storedRow('transactions', `description_type = 'ord'`);
    await run(`update ton.transactions set ${balance} where hash = '${row['hash']}'`);
    await expectProved(proof, chain, range);
    await bring(transactions, { ...row, after_balance: `${row['after_balance']}0` });
    expect(common(await certified('transactions'), [at(second)])).toEqual([]);
    const found = await proof.verify(chain, range);
    expect(kindsOf(found, 'transactions')).toContain('books: unbalanced_ord');
    await proof.repair(chain, range, found);
    await expectProved(proof, chain, range);
  });

  test('has been read once, whatever was read twice before', async () => {
    await proof.readAgain(transfers, range);
    await expectProved(proof, transfers, range);
    const others = `from ton.transactions o where o.utime = t.utime
      and not exists (select 1 from ton.jetton_transfers j where j.transaction_hash = o.hash)`;
    const { second, row } = await storedRow('jetton_transfers', `exists (select 1 ${others})`);
    const [other] = await store.database.rows(
      sql.raw(`select o.hash ${others.replace('t.utime', `to_timestamp(${second})`)} order by 1 limit 1`),
      z.object({ hash: z.string() }),
    );
    await bring(jetton_transfers, { ...row, transaction_hash: other!.hash });
    const found = await proof.verify(transfers, range);
    expect(common(await certified('jetton_transfers'), [at(second)])).toEqual([]);
    expect(kindsOf(found, 'jetton_transfers')).toEqual(['second-reading: read_once']);
    await run(`delete from ton.jetton_transfers where transaction_hash = '${other!.hash}'`);
    await unseal(store.database, jetton_transfers, range);
    await proof.readAgain(transfers, range);
    await expectProved(proof, transfers, range);
  });
});

test('a row that may be wrong only because another one is missing is not proved meanwhile', async () => {
  const [linked] = await store.database.rows(
    sql`select t.hash, extract(epoch from t.utime)::int8 as second, (
          select n.hash from ton.transactions n where n.utime > p.utime and n.utime < t.utime
            and n.account <> t.account order by n.utime, n.lt limit 1) as between
        from ton.transactions t join ton.transactions p on p.hash = t.prev_trans_hash
        where p.utime < t.utime - interval '3 seconds' and p.utime > to_timestamp(${range.from + 100})
        order by t.utime, t.lt limit 1`,
    z.object({ hash: z.string(), second: z.coerce.number(), between: z.string() }),
  );
  const { hash, second, between } = linked!;
  await expectProved(proof, chain, range);
  await run(`delete from ton.transactions where hash = '${between}'`);
  await unseal(store.database, transactions, range);
  await run(`update ton.transactions set prev_trans_lt = lt - 1, prev_trans_hash = hash, before_hash = hash
    where hash = '${hash}'`);
  const found = await proof.verify(chain, range);
  expect(kindsOf(found, 'transactions')).toContain('transactions: missing_transactions');
  expect(common(await certified('transactions'), [at(second)])).toEqual([]);
  await proof.repair(chain, range, found);
  await expectProved(proof, chain, range);
});

test('a reading confirms no second in which a record left quarantine meanwhile', async () => {
  const { name, job } = transfers[0]!;
  const stream = { dataset: name, scope: '', pass: 0 };
  const tables = Object.values(job.tables);
  const [gone] = await store.database.rows(
    sql`select transaction_hash as hash, extract(epoch from utime)::int8 as second from ton.jetton_transfers
        order by utime, transaction_hash offset 2 limit 1`,
    z.object({ hash: z.string(), second: z.coerce.number() }),
  );
  const { hash, second } = gone!;
  await run(`delete from ton.jetton_transfers where transaction_hash = '${hash}'`);
  await unseal(store.database, jetton_transfers, range);
  await run(`update etl.coverage set covered = '{}' where pass = 1`);
  await run(`update etl.pages set committed_at = now() - interval '2 hours'`);
  const lastWrite = await readLastWrite(store.database, tables);
  const page = await fetch(
    `${simulator.url}/api/v3/jetton/transfers?start_utime=${second}&end_utime=${second}&limit=100`,
  );
  const { accepted } = job.read(TransferPage.parse(await page.json()).jetton_transfers);
  const [{ rows, extra, position } = { rows: {}, extra: {}, position: undefined }] = accepted.filter(
    ({ position: { id } }) => id === hash,
  );
  const released = { recordId: hash, second, tables: job.tables, rows, extra };
  await release(store.database, createPartitions(store.database, 'month'), { stream, ...released });
  const confirm = (last: number) =>
    confirmDue(store.database, {
      first: stream,
      ranges: [range],
      ageSeconds: 3600,
      tables,
      lastWrite: last,
    });
  expect(position).toBeDefined();
  expect(without([range], await confirm(lastWrite))).toEqual([at(second)]);
  expect(await confirm(await readLastWrite(store.database, tables))).toEqual([at(second)]);
  await proof.readAgain(transfers, range);
  await expectProved(proof, transfers, range);
});

thorough(
  'a comparison that confirms rows and removes the certificate of their sources certifies none',
  async () => {
    const compare = (repair: boolean) =>
      proveRange(proof.context, {
        datasets: [...chain.filter(({ name }) => name === 'transactions'), ...transfers],
        ...{ range, share: 1, repair, random: Math.random },
      });
    const { second, row } = await storedRow('transactions', 'compute_gas_used > 5');
    await run(`update ton.transactions set compute_gas_used = 5 where hash = '${row['hash']}'`);
    await run(`update etl.coverage set covered = '{}' where pass = 1`);
    await run(`update etl.pages set committed_at = now() - interval '2 hours'`);
    const { reports } = await compare(false);
    const reported = reports.find(({ dataset }) => dataset.name === 'jetton_transfers')!.verified;
    for (const verified of [await certified('jetton_transfers'), reported])
      expect(without([range], verified)).toEqual([at(second)]);
    await compare(true);
    await expectProved(proof, [...chain, ...transfers], range);
  },
);
