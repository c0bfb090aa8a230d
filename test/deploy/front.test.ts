import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { packageRoot } from '../../src/package.ts';
import { openCrawledStore, type CrawledStore, type Printed } from '../support/database/crawled-store.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { demoPart } from '../support/demo-part.ts';
import { questions } from '../support/questions.ts';
import { isThorough, some } from '../support/thorough.ts';

/** The border between the two servers: between two partitions, and within the range of the questions. */
const [START, CUT, END] = ['2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', '2026-02-01T00:00:00Z'];

let [whole, cold, hot]: CrawledStore[] = [];
let front: TestStore;
let client: pg.Client;

/** Puts two databases behind one: each keeps the rows of one hour, in partitions of its own. */
beforeAll(async () => {
  [whole, cold, hot] = await Promise.all([1, 2, 3].map(() => openCrawledStore(demoPart)));
  front = await openTestStore();
  await keep(cold, START, CUT);
  await keep(hot, CUT, END);
  client = new pg.Client({
    connectionString: front.url,
    options: '-c timezone=Asia/Tokyo -c search_path=ton,etl,public',
  });
  await client.connect();
  await client.query(await readFile(join(packageRoot, 'deploy/front/front.sql'), 'utf8'));
  await add('cold', cold, `'${START}', '${CUT}'`);
  await add('hot', hot, `'${CUT}', 'infinity'`);
});
afterAll(async () => {
  await client.end();
  for (const store of [whole, cold, hot, front]) await store?.close();
});

async function keep(store: CrawledStore | undefined, from: string, to: string): Promise<void> {
  const parts = await store?.ask('select parent, name from etl.partitions');
  for (const { parent, name } of parts ?? [])
    await store?.ask(`
      alter table ton.${parent ?? ''} detach partition etl_partitions.${name ?? ''};
      delete from etl_partitions.${name ?? ''} where utime < '${from}' or utime >= '${to}';
      alter table ton.${parent ?? ''} attach partition etl_partitions.${name ?? ''} for values from ('${from}') to ('${to}')`);
  await store?.ask(`update etl.partitions
    set span = int8range(extract(epoch from timestamptz '${from}')::int8, extract(epoch from timestamptz '${to}')::int8)`);
}

async function add(name: string, store: CrawledStore | undefined, span: string): Promise<void> {
  const { hostname, port, pathname, username, password } = new URL(store?.url ?? '');
  const options = `host=${hostname} port=${port} dbname=${pathname.slice(1)}`;
  await client.query(`call front.add('${name}', '${options}', '${username}', '${password}', ${span})`);
}

async function ask(text: string): Promise<Printed[]> {
  return (await client.query<Printed>({ text, types: { getTypeParser: () => String } })).rows;
}

const counts = `select 'transactions' as name, count(*), min(utime), max(utime) from transactions
  union all select 'messages', count(*), min(utime), max(utime) from messages
  union all select 'actions', count(*), min(utime), max(utime) from actions order by 1`;

test('two databases, one for each month, look like one to an analyst', async () => {
  const expected = await whole?.ask(counts);
  expect(await ask(counts)).toEqual(expected);
  expect(expected?.every(({ count }) => Number(count) > 100)).toBe(true);
});

/** It looks up each message separately, over the wire: half a minute here. */
const SLOW = 'How long do messages take?';
/** These look up each transfer, mint or account separately: only the thorough run has them. */
const SLOWER =
  /^(?:Which jettons moved most|How many holders does each jetton have|Who paid for the most new accounts)/;
const asked = questions.filter(({ title }) => title !== SLOW && (isThorough || !SLOWER.test(title)));

test.each(some(asked, 4))('$title', async ({ statement }) => {
  const [expected, given] = await Promise.all([whole?.ask(statement), ask(statement)]);
  // No labels are loaded here.
  if (!statement.includes('from labels')) expect(given.length).toBeGreaterThan(0);
  expect(sorted(given)).toEqual(sorted(expected ?? []));
});

const sorted = (rows: readonly Printed[]) => rows.map((row) => JSON.stringify(row)).sort();

test('coverage is that of both, each for its own time', async () => {
  const covered = `select dataset, scope, covered, verified from coverage_report order by 1, 2`;
  expect(await ask(covered)).toEqual(await whole?.ask(covered));
  const assert = `select etl.assert_complete('transactions', '2026-01-01 00:30Z', '2026-01-01 01:10Z')`;
  expect(await ask(assert)).toEqual([{ assert_complete: 't' }]);
  await hot?.ask(`update etl.coverage set covered = covered - int8multirange(int8range(${String(Date.parse(CUT) / 1000 + 60)},
    ${String(Date.parse(CUT) / 1000 + 120)})) where dataset = 'transactions'`);
  await expect(ask(assert)).rejects.toThrow('transactions is not covered');
});

test('a range that would split a partition is refused, with the place to cut', async () => {
  await client.query('begin');
  await expect(add('middle', whole, `'2025-12-01', '2026-01-01 00:30Z'`)).rejects.toThrow(
    /conflicting key|holds time that is not the server's/,
  );
  await client.query('rollback');
});

test("while one server is down, questions about the other's time work, and other questions name the server that is down", async () => {
  await client.query(`alter server cold options (set port '1')`);
  const of = (from: string, to: string) =>
    `select count(*) from transactions where utime >= '${from}' and utime < '${to}'`;
  expect(Number((await ask(of(CUT, END)))[0]?.['count'])).toBeGreaterThan(1000);
  await expect(ask(of(START, END))).rejects.toThrow('could not connect to server "cold"');
});
