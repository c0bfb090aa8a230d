import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { readCoverage } from '../../src/ledger/stored-coverage.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { type Range, without as uncovered } from '../../src/range.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { openCli, type Cli, type CliResult } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
const RANGE = ['--from', String(START), '--to', String(START + 300), '--only', 'transactions'];
/** The source sends these transactions with these faults while its fault lasts. */
const WRONG = { lt: '"lt":"about ', account: '"account":9007199254740993,"was":"' };

const Span = z.object({ from: z.number(), to: z.number() });
const Verified = z.object({
  datasets: z.array(z.object({ findings: z.array(z.object({ check: z.string(), spans: z.array(Span) })) })),
});

let cli: Cli;
let simulator: Simulator;
let store: TestStore;
let misfits: TransactionJson[];
let wrong = true;
/** Every transaction lacks its fees. */
let spoilAll = false;
/** The source sends nothing in place of these transactions, not even their time. */
let lost: readonly TransactionJson[] = [];

beforeAll(async () => {
  cli = await openCli();
  simulator = await startSimulator({
    start: START,
    // The network is so long that the range is final, and next to nothing happens after it.
    duration: 8 * 3600,
    load: { base: 1, dead: [{ from: START + 900, to: START + 8 * 3600 }] },
    accounts: 100,
    after: ({ path }, response) =>
      wrong && path === '/api/v3/transactions'
        ? { ...response, body: spoil(response.body.toString()) }
        : response,
  });
  misfits = [...simulator.truth.transactions({ from: START + 100, to: START + 300 })].slice(0, 2);
});
beforeEach(async () => {
  store = await openTestStore();
  wrong = true;
  expect((await run('backfill', ...RANGE)).code).toBe(0);
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
});
afterEach(() => store.close());

function spoil(body: string): string {
  if (spoilAll) return body.replaceAll('"total_fees":"', '"total_fees":"about ');
  const [first, second] = misfits;
  const whole = lost.length === 0 ? body : without(body, lost);
  return whole
    .replace(`"hash":"${first?.hash}","lt":"`, `"hash":"${first?.hash}",${WRONG.lt}`)
    .replace(`"account":"${second?.account}","hash":"${second?.hash}"`, (text) =>
      text.replace('"account":"', WRONG.account),
    );
}

function without(body: string, gone: readonly TransactionJson[]): string {
  const response = JSON.parse(body) as { transactions: ({ hash: string } | null)[] };
  const hashes = new Set(gone.map(({ hash }) => hash));
  const transactions = response.transactions.map((each) => (hashes.has(each?.hash ?? '') ? null : each));
  return JSON.stringify({ ...response, transactions });
}

function run(...args: string[]): Promise<CliResult> {
  return cli.ask(args, {
    DATABASE_URL: store.url,
    TONCENTER_NETWORK: simulator.url,
    TONCENTER_RPS: '100',
    ETL_ATTEMPTS: '2',
  });
}

async function stored(): Promise<{ rows: number; quarantined: number }> {
  const [row] = await store.database.rows(
    sql`select (select count(*) from ton.transactions)::int as rows, (select count(*) from etl.quarantine)::int as quarantined`,
    z.object({ rows: z.number(), quarantined: z.number() }),
  );
  return row ?? { rows: -1, quarantined: -1 };
}

const expected = () => [...simulator.truth.transactions({ from: START, to: START + 300 })].length;

describe('records that do not fit', () => {
  test('are listed with member and reason, counted in status, and shown and exported without the loss of a digit', async () => {
    const { stdout } = await run('quarantine', 'list');
    expect(stdout).toMatch(/^ +1 +transactions +lt +\S/m);
    expect(stdout).toContain(misfits[0]?.hash);
    expect((await run('status')).stdout).toMatch(
      /2 in quarantine: TONCENTER_NETWORK=\S+ toncenter-etl quarantine list/,
    );
    const listed = JSON.parse((await run('quarantine', 'list', '--json')).stdout) as {
      id: number;
      path: string;
    }[];
    expect(listed.map(({ path }) => path).toSorted()).toEqual(['account', 'lt']);
    const id = listed.find(({ path }) => path === 'account')?.id;
    expect((await run('quarantine', 'show', String(id))).stdout).toContain('"account":9007199254740993');
    const exported = (await run('sql', '--json', 'select * from etl.quarantine')).stdout;
    const raw = (JSON.parse(exported) as { raw: string }[]).map((record) => record.raw);
    expect(raw.filter((text) => text.includes('"account":9007199254740993'))).toHaveLength(1);
    expect(raw).toHaveLength(2);
    expect((await run('quarantine', 'show', '999')).code).toBe(2);
  });

  test('are released by a version that understands them, without a request', async () => {
    // A newer version would read the record: here the record itself is repaired.
    await store.database.run(
      sql`update etl.quarantine set raw = replace(raw, '"lt":"about ', '"lt":"') where path = 'lt'`,
    );
    await store.database.run(sql`update etl.coverage set verified = covered where dataset = 'transactions'`);
    const asked = simulator.stats.total;
    const { code, stdout, stderr } = await run('quarantine', 'retry');
    expect(stdout).toContain('released  1 record');
    expect(stdout).toMatch(/unfit +\d+ of transactions: account: /);
    expect(stderr).toContain('quarantine retry --again');
    expect(code).toBe(3);
    expect(simulator.stats.total).toBe(asked);
    expect(await stored()).toEqual({ rows: expected() - 1, quarantined: 1 });
    // No check has seen the new rows.
    const stream = { dataset: 'transactions', scope: '', pass: 0 };
    const covered = await readCoverage(store.database, stream);
    const second = { from: misfits[0]!.now, to: misfits[0]!.now + 1 };
    expect(uncovered(covered, await readVerified(store.database, stream))).toContainEqual(second);
  });

  test('are requested again with --again, stay if the source still sends them, and leave if it does not', async () => {
    const again = await run('quarantine', 'retry', '--again');
    expect(again.stdout).toContain('0 of 2 are out of quarantine');
    expect(again.code).toBe(3);
    expect(await stored()).toEqual({ rows: expected() - 2, quarantined: 2 });
    wrong = false;
    const healed = await run('quarantine', 'retry', '--again');
    expect({ code: healed.code, stderr: healed.stderr }).toEqual({ code: 0, stderr: '' });
    expect(await stored()).toEqual({ rows: expected(), quarantined: 0 });
    const verified = await run('verify', ...RANGE);
    expect(verified.stdout).not.toContain('quarantine:');
  });

  test('without a readable time leave once the seconds that may contain them are complete', async () => {
    const later = [...simulator.truth.transactions({ from: START + 400, to: START + 600 })];
    // Both records have the same text: neither completes the seconds of the other.
    lost = [later[5]!, later.at(-9)!];
    const range = ['--from', String(START + 300), '--to', String(START + 600), '--only', 'transactions'];
    expect((await run('backfill', ...range)).code).toBe(0);
    expect((await stored()).quarantined).toBe(4);
    // The record may belong to any second between its neighbors: none of these is proved.
    const { stdout } = await run('verify', ...range, '--json');
    const { datasets } = Verified.parse(JSON.parse(stdout));
    const spans = datasets.flatMap(({ findings }) => findings).filter(({ check }) => check === 'quarantine');
    for (const { now } of lost) {
      const isAround = ({ from, to }: Range) => from <= now && to > now && to > from + 1;
      expect(spans.some((finding) => finding.spans.some(isAround))).toBe(true);
      const refused = await run(
        'sql',
        `select etl.assert_complete('transactions', to_timestamp(${now}), to_timestamp(${now + 1}))`,
      );
      expect(refused.stderr).toContain('transactions lacks 1 record ');
    }
    wrong = false;
    lost = [];
    expect((await run('quarantine', 'retry', '--again')).code).toBe(0);
    const all = [...simulator.truth.transactions({ from: START, to: START + 600 })].length;
    expect(await stored()).toEqual({ rows: all, quarantined: 0 });
  });
});

describe('a backfill whose source sends records that do not fit', () => {
  test('names the quarantine in its last line, and exits with 0 if only few records are in it', async () => {
    const { code, stdout } = await run('backfill', ...RANGE);
    expect(
      stdout
        .trim()
        .split('\n')
        .find((line) => line.startsWith('complete')),
    ).toMatch(/; in quarantine: 2 of transactions$/);
    expect(stdout).toMatch(/^unfit +transactions: 2 of \d[\d,]* records do not fit the schema/m);
    expect(code).toBe(0);
  });

  test('is incomplete if most records are in it, says why once, and says so again in a second run', async () => {
    await store.close();
    store = await openTestStore();
    spoilAll = true;
    try {
      const first = await run('backfill', ...RANGE);
      const again = await run('backfill', ...RANGE);
      for (const { code, stdout } of [first, again]) {
        expect(code).toBe(3);
        expect(stdout).toMatch(/^incomplete: .*; in quarantine: \d[\d,]* of transactions$/m);
        expect(stdout).toMatch(/unfit +transactions: (\d[\d,]*) of \1 records .*quarantine list/);
      }
      expect(first.stderr.match(/go to quarantine/g)).toHaveLength(1);
    } finally {
      spoilAll = false;
    }
  });
});
