import { sql } from 'drizzle-orm';
import * as z from 'zod';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { unseal } from '../../src/write/seals.ts';
import { compareRows, type RowSum } from '../../src/write/compare-rows.ts';
import { transactions } from '../../src/tables/ton/transactions.ts';
import { addRows, isSameSum, rowsBySecond } from '../../src/verify/compare-span.ts';
import { jetton_transfers } from '../../src/tables/ton/jettons-and-nfts.ts';
import { printReports } from '../../src/commands/verify-command.ts';
import { common, type Range, union } from '../../src/range.ts';
import type { HttpResponse } from '../../src/simulator/http/response.ts';
import type { Simulator, SimulatorOptions } from '../support/simulator/simulator.ts';
import { checkDeep, proveRange } from '../../src/verify/prove.ts';
import type { Verified } from '../../src/verify/verify.ts';
import type { TestStore } from '../support/database/database.ts';
import { openHoles, openNetworkProof, type Proof } from '../support/verify.ts';
import { thorough } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;

const TransferPage = z.looseObject({
  jetton_transfers: z.array(z.looseObject({ transaction_hash: z.string() })),
});

const TracePage = z.looseObject({
  traces: z.array(
    z.looseObject({
      transactions: z.record(z.string(), z.looseObject({ account_state_after: z.looseObject({}) })),
    }),
  ),
});

function withoutCode(response: HttpResponse, hash: string): HttpResponse {
  const body = TracePage.parse(JSON.parse(String(response.body)));
  for (const { transactions: sent } of body.traces)
    for (const [name, transaction] of Object.entries(sent))
      if (name === hash) transaction.account_state_after['code_hash'] = null;
  return { ...response, body: JSON.stringify(body) };
}

let store: TestStore;
let simulator: Simulator;
let proof: Proof;
let datasets: Dataset[];
let range: Range;
/** Hash of a transfer that the source serves in a form that does not fit. */
let misfit = '';
/** Hash of a transaction without its code in pages of traces. */
let silent = '';
/** Requests that it took to read the range. */
let toRead: number;
let close: () => Promise<void>;

beforeAll(async () => {
  const after: SimulatorOptions['after'] = ({ path }, response) => {
    if (silent !== '' && path === '/api/v3/traces') return withoutCode(response, silent);
    if (misfit === '' || path !== '/api/v3/jetton/transfers') return response;
    const body = TransferPage.parse(JSON.parse(String(response.body)));
    for (const transfer of body.jetton_transfers)
      if (transfer.transaction_hash === misfit) transfer['amount'] = {};
    return { ...response, body: JSON.stringify(body) };
  };
  const opened = await openNetworkProof({
    network: { start: START, duration: 400, seed: 12, load: 3, after },
    datasets: ['blocks', 'transactions', 'traces', 'jetton_transfers'],
  });
  ({ store, simulator, proof, datasets, range, requests: toRead, close } = opened);
  await proof.readAgain(datasets, range);
});
afterAll(() => close());

const kinds = (reports: readonly Verified[]) =>
  reports.flatMap(({ findings }) => findings.map(({ check, kind, count }) => `${check}: ${count} ${kind}`));

const run = (text: string) => store.database.run(sql.raw(text));

const Open = z.object({ dataset: z.string(), scope: z.string(), rows: z.coerce.number() });

const openFindings = () =>
  store.database.rows(sql`select dataset, scope, count(*) as rows from etl.findings group by 1, 2`, Open);

const assertComplete = (dataset: string) =>
  store.database.run(
    sql`select etl.assert_complete(${dataset}, to_timestamp(${range.from}), to_timestamp(${range.to}))`,
  );

describe('values without a checksum', () => {
  test('have no findings after a crawl, and every row is compared, for at most 1.1 times the requests of reading', async () => {
    const reports = await proof.verify(datasets, range);
    const before = simulator.stats.total;
    const { reports: compared, tables } = await checkDeep(proof.context, reports, {
      datasets,
      share: 1,
      random: Math.random,
    });
    expect(kinds(compared)).toEqual([]);
    for (const { table, compared: rows, stored } of tables) expect([table, rows]).toEqual([table, stored]);
    expect(simulator.stats.total - before).toBeLessThanOrEqual(1.1 * toRead);
  });

  test('are compared for every transaction even if only transactions are chosen, although pages of traces brought them', async () => {
    const only = datasets.filter(({ name }) => name === 'transactions');
    const options = { datasets: only, range, share: 1, repair: false, random: Math.random };
    const { compared, isShort, reports } = await proveRange(proof.context, options);
    const stored = compared.find(({ table }) => table === 'transactions')!;
    expect(stored.stored).toBeGreaterThan(500);
    expect([isShort, stored.compared, kinds(reports)]).toEqual([false, stored.stored, []]);
  });

  const ALTERATIONS: Readonly<Record<string, string>> = {
    'a body': `update ton.messages set content_body = 'x' where hash = (select hash from ton.messages
      where content_body is not null and out_msg_tx_hash is not null order by utime, hash offset 50 limit 1)`,
    'an opcode': `update ton.messages set opcode = '0xdeadbeef' where hash = (select hash from ton.messages
      where out_msg_tx_hash is not null order by utime, hash offset 70 limit 1)`,
    gas: `update ton.transactions set compute_gas_used = compute_gas_used + 1, compute_exit_code = 77
      where hash = (select hash from ton.transactions where compute_gas_used is not null order by utime, hash offset 200 limit 1)`,
    'a block number': `update ton.transactions set mc_block_seqno = 16
      where hash = (select hash from ton.transactions order by utime, hash offset 300 limit 1)`,
    'the end of a trace': `update ton.traces set end_lt = end_lt + 1
      where trace_id = (select trace_id from ton.traces order by utime, trace_id offset 30 limit 1)`,
    'an amount of jettons': `update ton.jetton_transfers set amount = amount + 1 where transaction_hash =
      (select transaction_hash from ton.jetton_transfers order by utime, transaction_hash offset 3 limit 1)`,
  };
  const altered = (tables: readonly { readonly table: string; readonly rows: number }[]) =>
    Object.fromEntries(tables.map(({ table, rows }) => [table, rows]));
  const OpenRow = z.object({ table: z.string(), rows: z.coerce.number() });

  test(`are checked by --deep: changes are found, remembered, refused, and repaired: ${Object.keys(ALTERATIONS).join(', ')}`, async () => {
    await proof.readAgain(datasets, range);
    await proof.verify(datasets, range);
    for (const statement of Object.values(ALTERATIONS)) expect(await run(statement)).toBe(1);
    expect(kinds(await proof.verify(datasets, range))).toEqual([]);
    const options = { datasets, range, share: 1, random: Math.random };
    await proveRange(proof.context, { ...options, repair: false });
    const seen = await store.database.rows(
      sql`select table_name as "table", count(distinct row_key) as rows from etl.findings where row_key <> '' group by 1`,
      OpenRow,
    );
    expect(altered(seen)).toMatchObject({ messages: 2, transactions: 2, traces: 1, jetton_transfers: 1 });
    // Another verification does not drop the finding.
    const again = await proof.verify(datasets, range);
    for (const { dataset, verified } of again.filter(({ dataset: { name } }) => name !== 'blocks'))
      expect([dataset.name, verified]).not.toEqual([dataset.name, [range]]);
    for (const { dataset, scope, rows } of await openFindings()) {
      expect(rows).toBeGreaterThan(0);
      expect(scope).toBe('');
      await expect(assertComplete(dataset)).rejects.toThrow();
    }
    const repaired = await proveRange(proof.context, { ...options, repair: true });
    expect(await openFindings()).toEqual([]);
    const left = kinds(repaired.reports);
    // A repaired second of a dataset without a checksum waits for its second reading.
    expect(left.filter((kind) => !kind.startsWith('second-reading'))).toEqual([]);
    const last = await checkDeep(proof.context, repaired.reports, {
      datasets,
      share: 1,
      random: Math.random,
    });
    expect(kinds(last.reports).filter((kind) => !kind.startsWith('second-reading'))).toEqual([]);
  });

  thorough('are remembered, counted and repaired however many rows of one kind there are', async () => {
    const only = datasets.filter(({ name }) => name === 'transactions');
    await proof.verify(datasets, range);
    const count = await run(`update ton.transactions set compute_vm_steps = -1 where hash in (
      select hash from ton.transactions
      where utime >= to_timestamp(${range.from}) and utime < to_timestamp(${range.to}) order by utime limit 1002)`);
    expect(count).toBe(1002);
    await proveRange(proof.context, { datasets: only, range, share: 1, repair: false, random: Math.random });
    const found = await proof.verify(only, range);
    expect(kinds(found)).toContain(`deep: ${count} differing_in_transactions`);
    const seconds = await store.database.rows(
      sql`select distinct extract(epoch from utime)::int8 as second from ton.transactions where compute_vm_steps = -1`,
      z.object({ second: z.coerce.number() }),
    );
    const wrong = union(seconds.map(({ second }) => ({ from: second, to: second + 1 })));
    const ofTransactions = found.find(({ dataset: { name } }) => name === 'transactions')!;
    expect(common(ofTransactions.verified, wrong)).toEqual([]);
    expect(common(await readVerified(store.database, ofTransactions.stream), wrong)).toEqual([]);
    const log = vi.spyOn(console, 'log').mockReturnValue();
    printReports({ range, reports: found, causes: new Map(), compared: [], isShort: false }, 0);
    const printed = String(log.mock.calls.at(-1)?.[0]);
    log.mockRestore();
    expect(printed).toContain(`one of ${count} in transactions, see: `);
    await proof.repair(only, range, found);
    expect(await openFindings()).toEqual([]);
  });

  thorough('cost the share of the pages that was requested', async () => {
    const reports = await proof.verify(datasets, range);
    const before = simulator.stats.total;
    const draw = { datasets, share: 0.01, random: () => 0.5 };
    expect(
      kinds((await checkDeep(proof.context, reports, draw)).reports).filter((kind) =>
        kind.startsWith('deep'),
      ),
    ).toEqual([]);
    expect(simulator.stats.total - before).toBeLessThanOrEqual(datasets.length * 2);
  });
});

describe('a dataset without a checksum', () => {
  test('is compared with the messages that make its rows', async () => {
    await proof.readAgain(datasets, range);
    await run(`delete from ton.jetton_transfers where transaction_hash =
      (select transaction_hash from ton.jetton_transfers t where exists (select 1 from ton.jetton_transfers o
         where o.source_wallet = t.source_wallet and o.transaction_hash <> t.transaction_hash) limit 1)`);
    await unseal(store.database, jetton_transfers, range);
    const found = await proof.verify(datasets, range);
    expect(kinds(found)).toEqual(['cross-checks: 1 missing_row']);
    const { reports } = await proof.repair(datasets, range, found);
    // Both readings of the second begin again.
    expect(kinds(reports)).toEqual(['second-reading: 1 read_once']);
    await proof.readAgain(datasets, range);
    const last = await proof.verify(datasets, range);
    expect(last.map(({ verified }) => verified)).toEqual([[range], [range], [range], [range]]);
  });

  test('is not cross-checked before its second reading', async () => {
    await run(`update etl.coverage set covered = '{}' where pass = 1`);
    const [transfers] = (await proof.verify(datasets, range)).filter(
      ({ dataset }) => dataset.name === 'jetton_transfers',
    );
    expect(transfers).toMatchObject({ verified: [], findings: [{ kind: 'read_once', outcome: 'open' }] });
  });

  test('has its second reading in a comparison of every row, once the first one is old enough', async () => {
    const transfers = datasets.filter(({ name }) => name === 'jetton_transfers');
    const options = { datasets: transfers, range, share: 1, repair: false, random: Math.random };
    const own = ({ reports }: Awaited<ReturnType<typeof proveRange>>) =>
      reports.find(({ dataset }) => dataset.name === 'jetton_transfers');
    await run(`update etl.pages set committed_at = now()`);
    expect(own(await proveRange(proof.context, options))).toMatchObject({
      verified: [],
      findings: [{ kind: 'read_once', example: expect.stringMatching(/from 20.*Z on: sync/) as unknown }],
    });
    await run(`update etl.pages set committed_at = now() - interval '2 hours'`);
    expect(own(await proveRange(proof.context, options))).toMatchObject({ verified: [range], findings: [] });
  });

  test('is not confirmed by a reading with other rows', async () => {
    const again = datasets.filter(({ name }) => name === 'jetton_transfers');
    await run(`update etl.coverage set covered = '{}' where pass = 1`);
    await run(`update ton.jetton_transfers set amount = amount + 1 where transaction_hash =
      (select transaction_hash from ton.jetton_transfers order by utime, transaction_hash offset 3 limit 1)`);
    await proof.readAgain(again, range);
    const [transfers] = (await proof.verify(again, range)).filter(
      ({ dataset }) => dataset.name === 'jetton_transfers',
    );
    expect(transfers).toMatchObject({ findings: [{ kind: 'read_differently', outcome: 'open' }] });
    expect(transfers?.findings[0]?.spans).toHaveLength(1);
    await proof.readAgain(again, range);
    const last = await proof.verify(again, range);
    expect(last.map(({ verified }) => verified)).toEqual(last.map(() => [range]));
  });

  test('keeps no value that the source does not have: the next reading agrees with the second one', async () => {
    const again = datasets.filter(({ name }) => name === 'jetton_transfers');
    await run(`update etl.coverage set covered = '{}' where pass = 1`);
    const chosen = `(select transaction_hash from ton.jetton_transfers where custom_payload is null
      order by utime, transaction_hash limit 1)`;
    expect(
      await run(`update ton.jetton_transfers set custom_payload = 'x' where transaction_hash = ${chosen}`),
    ).toBe(1);
    await proof.readAgain(again, range);
    await proof.readAgain(again, range);
    const last = await proof.verify(again, range);
    expect(last.map(({ verified }) => verified)).toEqual(last.map(() => [range]));
    expect(await run(`select 1 from ton.jetton_transfers where custom_payload = 'x'`)).toBe(0);
  });

  test('is not confirmed if a record could not be compared, because it does not fit', async () => {
    const again = datasets.filter(({ name }) => name === 'jetton_transfers');
    const Transfer = z.object({ hash: z.string(), second: z.coerce.number() });
    const [transfer] = await store.database.rows(
      sql`select transaction_hash as hash, extract(epoch from utime)::int8 as second from ton.jetton_transfers
          order by utime, transaction_hash offset 2 limit 1`,
      Transfer,
    );
    const { hash, second } = transfer!;
    await run(`delete from ton.jetton_transfers where transaction_hash = '${hash}'`);
    await unseal(store.database, jetton_transfers, range);
    await run(`update etl.coverage set covered = '{}' where pass = 1`);
    await run(`update etl.pages set committed_at = now() - interval '2 hours'`);
    misfit = hash;
    const options = { datasets: again, range, share: 1, random: Math.random };
    const seen = await proveRange(proof.context, { ...options, repair: false });
    misfit = '';
    expect(kinds(seen.reports)).toContain('deep: 1 does_not_fit');
    const span = { from: second, to: second + 1 };
    const transfers = (reports: readonly Verified[]) =>
      reports.find(({ dataset }) => dataset.name === 'jetton_transfers')!;
    expect(common(transfers(seen.reports).verified, [span])).toEqual([]);
    await expect(assertComplete('jetton_transfers')).rejects.toThrow();
    const healed = await proveRange(proof.context, { ...options, repair: true });
    expect(kinds(healed.reports)).toEqual(['second-reading: 1 read_once']);
    await proof.readAgain(again, range);
    expect(transfers(await proof.verify(again, range)).verified).toEqual([range]);
  });
});

test('a row in two records does not stand for another one of its second', async () => {
  const [found] = await store.database.rows(
    sql`select extract(epoch from utime)::int8 as second, (jsonb_agg(to_jsonb(t)) -> 0) as one from ton.transactions t
        group by 1 having count(*) = 2 order by 1 limit 1`,
    z.object({ second: z.coerce.number(), one: z.looseObject({}) }),
  );
  const { second, one } = found!;
  const span = { from: second, to: second + 1 };
  const { matched } = await compareRows(store.database, transactions, [one, one], { span, isAll: false });
  const sums = new Map<string, Map<number, RowSum>>();
  for (const seconds of [matched, matched]) addRows(sums, 'transactions', seconds);
  const stored = (await rowsBySecond(store.database, transactions, span)).get(second)!;
  const twice = sums.get('transactions')?.get(second);
  expect([matched.get(second)?.rows, twice?.rows, stored.rows]).toEqual([1, 2, 2]);
  expect([isSameSum(twice, stored), isSameSum(stored, stored)]).toEqual([false, true]);
});

test('a quarantined record is known to be missing: no certificate, and no second request', async () => {
  const [gone] = [...simulator.truth.transactions({ from: START + 215, to: START + 400 })];
  await run(`delete from ton.transactions where hash = '${gone!.hash}'`);
  await run(`insert into etl.quarantine (dataset, record_id, utime, span, path, reason, raw, request)
    values ('transactions', '${gone!.hash}', to_timestamp(${gone!.now}), '[${gone!.now},${gone!.now + 1})', 'lt', 'is no number', '{}', '/x')`);
  const only = datasets.filter(({ name }) => name === 'transactions');
  for (const table of Object.values(only[0]!.job.tables)) await unseal(store.database, table, range);
  const found = (await proof.verify(only, range)).filter(({ dataset }) => dataset.name === 'transactions');
  expect(found[0]!.verified).toEqual([
    { from: range.from, to: gone!.now },
    { from: gone!.now + 1, to: range.to },
  ]);
  expect(new Set(found[0]!.findings.map(({ outcome }) => outcome))).toEqual(new Set(['known']));
  const before = simulator.stats.byPath.get('/api/v3/transactions');
  await proof.repair(only, range, found);
  expect(simulator.stats.byPath.get('/api/v3/transactions')).toBe(before);
});

test('a response for another window than the requested one is refused, even an empty one', async () => {
  let isOther = false;
  const after: SimulatorOptions['after'] = ({ path }, response) => {
    if (!isOther || !path.startsWith('/api/v3/validators/events')) return response;
    return { ...response, body: JSON.stringify({ events: [], start_utime: 1, end_utime: 2 }) };
  };
  const lying = await openNetworkProof({
    network: { start: START, duration: 3000, masterchainInterval: 20, after },
    datasets: ['validator_events'],
    config: { attempts: 1 },
  });
  try {
    const { proof: of, datasets: events, range: covered } = lying;
    await of.readAgain(events, covered);
    const reports = await of.verify(events, covered);
    expect(
      (
        await checkDeep(of.context, reports, { datasets: events, share: 1, random: () => 0.5 })
      ).reports[0]!.checks.at(-1)!.rows,
    ).toBeGreaterThan(0);
    isOther = true;
    await expect(
      checkDeep(of.context, reports, { datasets: events, share: 1, random: () => 0.5 }),
    ).rejects.toThrow('the response says that it is for');
  } finally {
    await lying.close();
  }
});

thorough('a finding from a trace is remembered until that trace has been checked again', async () => {
  const at = (second: number): Range => ({ from: second, to: second + 1 });
  const Held = z.object({ hash: z.string(), own: z.coerce.number(), end: z.coerce.number() });
  const [held] = await store.database.rows(
    sql`select t.hash, extract(epoch from t.utime)::int8 as own, extract(epoch from e.utime)::int8 as end
        from ton.trace_nodes e join ton.transactions t on t.hash = e.tx_hash
        where t.utime < e.utime - interval '2 seconds' and t.utime > to_timestamp(${range.from + 100})
        order by e.utime, t.hash limit 1`,
    Held,
  );
  const { hash, own, end } = held!;
  const compare = (names: readonly string[], span: Range, repair: boolean) => {
    const chosen = datasets.filter(({ name }) => names.includes(name));
    const options = { datasets: chosen, range: span, share: 1, repair, random: Math.random };
    return proveRange(proof.context, options);
  };
  await run(`update ton.transactions set compute_gas_used = 5 where hash = '${hash}'`);
  await compare(['traces'], range, false);
  await openHoles(store, {
    stream: { dataset: 'traces', scope: '', pass: 0 },
    holes: [at(end)],
  });
  // Other traces end in the transaction's own second.
  await compare(['traces'], at(own), false);
  await proof.verify(datasets, range);
  const transactionsRead = { dataset: 'transactions', scope: '', pass: 0 };
  expect(common(await readVerified(store.database, transactionsRead), [at(own)])).toEqual([]);
  await proof.cover(datasets, await proof.readable());
  const { reports } = await compare(['transactions', 'traces'], range, true);
  expect(kinds(reports)).toEqual([]);
});

thorough('a copy of a row without a value does not settle a finding about that value', async () => {
  const [row] = await store.database.rows(
    sql`select hash, extract(epoch from utime)::int8 as second from ton.transactions
        where after_code_hash is not null and utime > to_timestamp(${range.from + 100}) order by utime, hash limit 1`,
    z.object({ hash: z.string(), second: z.coerce.number() }),
  );
  const { hash, second } = row!;
  const compare = (name: string, repair: boolean) => {
    const chosen = datasets.filter((dataset) => dataset.name === name);
    const options = { datasets: chosen, range, share: 1, repair, random: Math.random };
    return proveRange(proof.context, options);
  };
  const certified = async () =>
    common(await readVerified(store.database, { dataset: 'transactions', scope: '', pass: 0 }), [
      { from: second, to: second + 1 },
    ]);
  await run(`update ton.transactions set after_code_hash = null where hash = '${hash}'`);
  await compare('transactions', false);
  expect(await certified()).toEqual([]);
  silent = hash;
  await compare('traces', false);
  silent = '';
  await proof.verify(datasets, range);
  expect(await certified()).toEqual([]);
  const { reports } = await compare('transactions', true);
  expect(kinds(reports)).toEqual([]);
  expect(await certified()).toHaveLength(1);
});
