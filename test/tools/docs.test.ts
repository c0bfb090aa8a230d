import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { runSql } from '../../src/read/free-sql.ts';
import { openEngine, type Engine } from '../../src/lake/engine.ts';
import { openLakeReader } from '../../src/lake/open-lake.ts';
import { packageRoot } from '../../src/package.ts';
import { loadTables } from '../../src/postgres/load-tables.ts';
import { describeTable } from '../../src/read/table-rows.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { sorted } from '../support/books/facts.ts';
import { demoPart } from '../support/demo-part.ts';
import { exported } from '../support/lake.ts';
import { type LakeEngine, pageFor, questionsFor } from '../support/lake-page.ts';
import { questions } from '../support/questions.ts';
import { timeQuestion } from '../../tools/bench/page/page-questions.ts';
import type { Network } from '../../tools/docs/answer.ts';
import { answers } from '../../tools/docs/answers.ts';
import { answersOfDashboards, coldWalletOf, EXCHANGE } from '../../tools/docs/answers-of-dashboards.ts';
import { answersOfMoney } from '../../tools/docs/answers-of-money.ts';
import { answersOfTrades } from '../../tools/docs/answers-of-trades.ts';
import { declaredRelations } from '../../tools/docs/declared-relations.ts';
import { joinOf } from '../../tools/docs/diagram.ts';
import { writeDocs } from '../../tools/docs/write-docs.ts';
import { some } from '../support/thorough.ts';

const all = { ...answers, ...answersOfMoney, ...answersOfTrades, ...answersOfDashboards };

let store: CrawledStore;
let database: Database;
let network: Network;
let engine: Engine;
let directory: string;
let askLake: Awaited<ReturnType<typeof openLakeReader>>;

beforeAll(async () => {
  store = await openCrawledStore(demoPart);
  database = await openDatabase({ url: store.url, applicationName: 'docs' });
  network = {
    truth: store.truth,
    span: store.span,
    transactions: [...store.truth.transactions(store.span)],
    spanOf: store.spanOf,
  };
  engine = await openEngine();
  const { address, label, category, organization } = EXCHANGE;
  const labels = [address, coldWalletOf(network)].map(
    (one, index) => `('${one}', '${label} ${index}', '${category}', '${organization}')`,
  );
  await store.ask(
    `insert into etl.labels (address, label, category, organization, imported_from)
     select *, 'test.csv' from (values ${labels.join(', ')}) given`,
  );
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-questions-'));
  const all = { from: '2025-12-31', to: '2026-01-02', only: ['all'], out: directory, format: 'parquet' };
  expect((await exported(store.url, all)).code).toBe(0);
  await engine.ask(`create schema if not exists etl;
    create table etl.labels (address varchar, label varchar, category varchar, organization varchar);
    insert into etl.labels values ${labels.join(', ')}`);
  askLake = await openLakeReader(engine, directory);
});
afterAll(async () => {
  await engine.close();
  await database.close();
  await store.close();
  await rm(directory, { recursive: true });
});

test('the generated files agree with the database and the declared relations: npm run docs writes them', async () => {
  const pages = await writeDocs(database);
  for (const [path, text] of Object.entries(pages))
    expect(readFileSync(join(packageRoot, path), 'utf8'), path).toBe(text);
});

describe.each(['spark', 'clickhouse', 'trino'] as const)('the page of a lake for %s', (engine) => {
  const lines = readFileSync(join(packageRoot, 'docs', 'lake.md'), 'utf8').split('\n');
  const [, , answered = '', notThere = ''] =
    lines.find((line) => line.includes(`lake-${engine}.sql) |`))?.split(' | ') ?? [];
  const inNone = lines.find((line) => line.startsWith('None has the [curated views]')) ?? '';

  test('makes all relations and functions that its views need', async () => {
    expect([...(await wholePage(engine)).lacking]).toEqual([]);
  });

  test('makes what docs/lake.md promises, and answers as many questions', async () => {
    const page = await wholePage(engine);
    expect(answered).toBe(`${questionsFor(page).length} of ${questions.length}`);
    const names = await namesForAnalysts();
    const lacking = names.filter((name) => !page.made.has(`ton.${name}`));
    expect([...`${inNone}${notThere}`.matchAll(/`(\w+)`/g)].map(([, name]) => name).sort()).toEqual(
      lacking.sort(),
    );
  });
});

async function wholePage(engine: LakeEngine) {
  const tables = (await loadTables()).map((table) => describeTable(table).name);
  return pageFor(engine, new Set(tables));
}

/** Views and functions of analyst.sql in the schema of analysts. */
async function namesForAnalysts(): Promise<string[]> {
  const page = await readFile(join(packageRoot, 'migrations', 'analyst.sql'), 'utf8');
  const made = page.matchAll(/^create or replace (?:view|function) (?:ton\.|etl\.open_)(\w+)/gm);
  return [...made].flatMap(([, name = '']) => (name === 'days' ? [] : name));
}

describe('every question gives the same result from the network itself, from the database and from its lake:', () => {
  test('each has a result', () => {
    expect(questions.map(({ title }) => title).sort()).toEqual(Object.keys(all).sort());
  });

  test.each(some(questions, 8))('$title', async ({ title, statement }) => {
    const { columns, rows } = await runSql(database, statement, { write: false });
    const ofLake = await askLake(statement);
    expect({ columns: ofLake.columns, rows: ofLake.rows }).toEqual({ columns, rows });
    const results = rows.map((row) => Object.fromEntries(columns.map((name, index) => [name, row[index]])));
    const expected = all[title]?.(network) ?? [];
    expect(expected.length).toBeGreaterThan(0);
    expect(sorted(results)).toEqual(sorted(expected));
  });
});

test('the bench asks the questions of the page, and prints the cost of each answer', async () => {
  const client = new pg.Client({ connectionString: store.url, options: '-c search_path=ton,etl,public' });
  await client.connect();
  const [first] = questions;
  const asked = await timeQuestion(client, first?.statement ?? '');
  await client.end();
  expect(asked).toMatchObject({ rows: all[first?.title ?? '']?.(network).length });
  expect(Math.min(asked.ms, asked.cost)).toBeGreaterThan(0);
});

describe('every declared relation finds rows, at most one for each:', () => {
  test.each(declaredRelations())('$table $name', async (relation) => {
    const given = relation.fields.map((field) => `${relation.table}.${field} is not null`).join(' and ');
    const [row] = await store.ask(
      `select (select count(*) from ${relation.table} where ${given}) as rows, (select count(*) from ${joinOf(relation)}) as found`,
    );
    expect(Number(row?.['found'])).toBeGreaterThan(0);
    expect(Number(row?.['found'])).toBeLessThanOrEqual(Number(row?.['rows']));
  });
});
