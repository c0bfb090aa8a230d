import { existsSync } from 'node:fs';
import { appendFile, cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { readDue } from '../../src/ledger/stored-coverage.ts';
import { isWhollyVerified, type Verified } from '../../src/verify/verify.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { datasetsNamed, openTestCrawl } from '../support/crawl.ts';
import { exported, imported, verified } from '../support/lake.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { twoDays } from '../support/two-days.ts';
import { openProof } from '../support/verify.ts';
import { some } from '../support/thorough.ts';

const ALL = { from: '2026-01-31', to: '2026-02-02' };
const CORE = ['blocks', 'transactions', 'traces'];
const TABLES = ['blocks', 'block_parents', 'transactions', 'messages', 'traces', 'trace_nodes'];

let source: CrawledStore;
let simulator: Simulator;
let directory: string;
const opened: TestStore[] = [];

beforeAll(async () => {
  source = await openCrawledStore(twoDays);
  // Times in JSON are in the zone of the session.
  await source.ask(`set timezone = 'UTC'`);
  simulator = await startSimulator(twoDays.options);
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-import-'));
  expect((await exported(source.url, { ...ALL, only: CORE, format: 'parquet', out: lake() })).code).toBe(0);
});
afterAll(async () => {
  for (const store of opened) await store.close();
  await simulator.close();
  await source.close();
  await rm(directory, { recursive: true, force: true });
});

const lake = (name = 'honest'): string => join(directory, name);

/** Copies the tables that a lake does not have from the honest one. */
async function addHonest(out: string): Promise<void> {
  for (const table of await readdir(lake()))
    if (!existsSync(join(out, table))) await cp(join(lake(), table), join(out, table), { recursive: true });
}

/**
 * A new database with the rows that are imported from a lake: by one run, or by several, each up to one of
 * these times.
 */
async function fillFrom(name: string, ...stops: readonly string[]): Promise<TestStore> {
  const store = await openTestStore();
  opened.push(store);
  for (const to of [...stops, ALL.to])
    await imported(store.url, { ...ALL, to, only: CORE, lake: lake(name) });
  return store;
}

/** A row count and a checksum of all columns except the time of loading. */
const contents = (table: string) =>
  `select count(*)::text as rows, coalesce(sum(hashtextextended((to_jsonb(t) - 'loaded_at')::text, 0)), 0)::text as values from ton.${table} t`;

const partitions = `select p.parent, p.name, p.span::text, (select string_agg(distinct split_part(pg_get_indexdef(i.indexrelid), ' USING ', 2), ';')
    from pg_index i where i.indrelid = ('etl_partitions.' || p.name)::regclass and i.indisvalid) as indexes
  from etl.partitions p where p.parent in ('${TABLES.join("', '")}') order by 1, 2`;

const Text = z.record(z.string(), z.string().nullable());
const ask = (store: TestStore, text: string) => store.database.rows(sql.raw(text), Text);

async function verify(store: TestStore): Promise<{ range: CrawledStore['span']; found: Verified[] }> {
  const crawl = await openTestCrawl(store, simulator.url);
  try {
    const proof = await openProof(store, crawl);
    const range = source.span;
    return { range, found: await proof.verify(await datasetsNamed(...CORE), range) };
  } finally {
    await crawl.close();
  }
}

const provedOf = ({ range, found }: Awaited<ReturnType<typeof verify>>): boolean[] =>
  found.map((one) => isWhollyVerified(one, range));

describe('an empty database that is filled from a lake', () => {
  test('has the same rows and coverage, and nothing is verified until verify proves it', async () => {
    // The first month's partition exists when the second run comes.
    const store = await fillFrom('honest', '2026-01-31T23:40Z');
    // Rows of seconds that are not covered, which other pages brought, are not in the lake.
    const within = `utime >= to_timestamp(${source.span.from}) and utime < to_timestamp(${source.span.to})`;
    for (const table of TABLES)
      expect(await ask(store, `${contents(table)} where ${within}`), table).toEqual(
        await source.ask(`${contents(table)} where ${within}`),
      );
    const names = CORE.map((name) => `'${name}'`).join(', ');
    const covered = `select dataset, covered::text from etl.coverage where pass = 0 and dataset in (${names}) order by 1`;
    expect(await ask(store, covered)).toEqual(await source.ask(covered));
    expect(await ask(store, `select 1 from etl.coverage where not isempty(verified)`)).toEqual([]);
    // Partitions that are filled at once equal those that existed before their rows.
    expect(await ask(store, partitions)).toEqual(await source.ask(partitions));
    // The rows keep the time at which they were read, so another reading now is at another time.
    const stream = { dataset: 'transactions', scope: '', pass: 0 };
    expect(await readDue(store.database, [stream], source.span, 3600)).toEqual([[stream, []]]);
    await ask(store, `update etl.pages set committed_at = committed_at - interval '2 hours'`);
    expect(await readDue(store.database, [stream], source.span, 3600)).toEqual([[stream, [source.span]]]);

    expect(provedOf(await verify(store))).toEqual([true, true, true]);
    // Rows that are stored are not imported again.
    const again = await imported(store.url, { ...ALL, only: CORE, lake: lake() });
    expect(again.printed.filter((line) => !line.startsWith('not in the lake'))).toEqual([]);
  });

  test('is told what the lake does not have', async () => {
    const store = await openTestStore();
    opened.push(store);
    const { code, printed } = await imported(store.url, { ...ALL, only: ['jetton_burns'], lake: lake() });
    expect(code).toBe(3);
    expect(printed).toEqual(['not in the lake: jetton_burns 2026-01-31T00:00:00Z .. 2026-02-02T00:00:00Z']);
  });
});

describe('verify finds the forgery in a lake whose log agrees with its parts:', () => {
  const one = `(select hash from ton.transactions where utime >= '2026-01-31 23:40Z' order by utime, lt, account limit 1)`;

  test.each(
    some(
      [
        ['an altered value', `update ton.transactions set total_fees = total_fees + 1 where hash = ${one}`],
        ['a row that is gone', `delete from ton.transactions where hash = ${one}`],
        [
          'an invented row',
          `insert into ton.transactions select (jsonb_populate_record(t, jsonb_build_object('lt', t.lt + 1,
         'hash', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA='))).* from ton.transactions t where hash = ${one}`,
        ],
      ],
      1,
    ),
  )('%s', async (name, forge) => {
    await source.ask('create table truth as select * from ton.transactions');
    await source.ask(forge);
    const out = lake(name);
    await exported(source.url, { ...ALL, only: ['transactions'], format: 'parquet', out });
    await addHonest(out);
    await source.ask('delete from ton.transactions');
    await source.ask('insert into ton.transactions select * from truth');
    await source.ask('drop table truth');
    expect(await verified(out)).toMatchObject({ code: 0, printed: [] });
    const found = await verify(await fillFrom(name));
    expect(provedOf(found)).toContain(false);
  });

  test('parts that the log does not know are refused', async () => {
    const store = await openTestStore();
    opened.push(store);
    const out = lake('spoiled');
    await addHonest(out);
    const [path = ''] = (await readdir(join(out, 'blocks'), { recursive: true })).filter((name) =>
      name.endsWith('.parquet'),
    );
    await appendFile(join(out, 'blocks', path), 'x');
    await expect(imported(store.url, { ...ALL, only: CORE, lake: out })).rejects.toThrow(/has been altered/);
  });
});
