import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import type { Session } from '../../src/postgres/database.ts';
import { countDrift, quarantineRecords } from '../../src/write/insert.ts';
import type { Rejected } from '../../src/dataset/job.ts';
import { readPosition } from '../../src/dataset/job.ts';
import { extraWithin } from '../../src/dataset/declaration/record.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

const stream = { dataset: 'blocks', scope: '', pass: 0 };
const rejected = (id: string, more: Partial<Rejected> = {}): Rejected => ({
  position: { utime: 1000, lt: '1', id },
  span: { from: 1000, to: 1001 },
  path: 'lt',
  reason: 'is wrong',
  raw: { id },
  ...more,
});

/** How many statements some work sends. */
async function statementsOf(work: (session: Session) => Promise<void>): Promise<number> {
  let statements = 0;
  await store.database.transaction(async (session) => {
    const counting = {
      ...session,
      run: (query: Parameters<Session['run']>[0]) => ((statements += 1), session.run(query)),
    };
    await work(counting);
  });
  return statements;
}

async function one(query: ReturnType<typeof sql>): Promise<Record<string, unknown>> {
  const [row] = await store.database.rows(query, z.record(z.string(), z.unknown()));
  return row ?? {};
}

test('thousands of records of one page go to quarantine in one statement, each once', async () => {
  const records = Array.from({ length: 5000 }, (_, index) => rejected(`r${index % 4000}`));
  expect(await statementsOf((session) => quarantineRecords(session, stream, 'GET', records))).toBe(1);
  expect(
    await statementsOf((session) => quarantineRecords(session, stream, 'GET', records.slice(0, 1))),
  ).toBe(1);
  const { records: stored, most } = await one(
    sql`select count(*)::int as records, max(attempts) as most from etl.quarantine`,
  );
  expect([stored, most]).toEqual([4000, 3]);
  await store.database.script('truncate etl.quarantine');
});

test('records of any size are kept whole, with paths and names that an index can hold', async () => {
  const long = Array.from({ length: 20_000 }, (_, index) => index.toString(36)).join('');
  const id = readPosition({ utime: 'utime', id: ['hash'] }, { utime: 1000, hash: long })?.id ?? '';
  const raw = { text: 'x'.repeat(2 ** 22) };
  const records = Array.from({ length: 6 }, (_, index) => rejected(`${id}${index}`, { path: long, raw }));
  expect(await statementsOf((session) => quarantineRecords(session, stream, 'GET', records))).toBeLessThan(6);
  const stored = await one(
    sql`select count(*)::int as records, min(length(raw)) as raw, max(length(path)) as path, max(length(record_id)) as id from etl.quarantine`,
  );
  expect(stored).toEqual({ records: 6, raw: JSON.stringify(raw).length, path: 301, id: 45 });
});

test('a list of new members of any length is counted in one statement, and the rest after the first ones is reported', async () => {
  const extra = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`new_${index}`, index]));
  expect(
    await statementsOf((session) =>
      countDrift(session, 'blocks', [extra, { new_1: 5, seen: 'y'.repeat(10_000) }]),
    ),
  ).toBe(1);
  const drift = await one(sql`select count(*)::int as paths, sum(times)::int as times,
    max(times) filter (where path = '…')::int as others, max(times) filter (where path = 'new_1')::int as again,
    max(length(example::text)) as longest from etl.schema_drift`);
  expect(drift).toEqual({ paths: 101, times: 100_002, others: 99_901, again: 2, longest: 4 });
});

test('an example of any length, a name of any length and numbers beyond a double are kept as far as possible', async () => {
  await store.database.script('truncate etl.schema_drift');
  const extra = {
    ['n'.repeat(50_000)]: 1,
    large: 2n ** 80n,
    long: 'z'.repeat(5000),
    nothing: null,
    'list.7.x': [],
  };
  await statementsOf((session) => countDrift(session, 'blocks', [extra]));
  const drift = await store.database.rows(
    sql`select length(path) as length, type, left(example::text, 40) as example from etl.schema_drift order by length(path)`,
    z.object({ length: z.number(), type: z.string(), example: z.string().nullable() }),
  );
  expect(drift.map(({ length, type }) => [length, type])).toEqual([
    [4, 'string'],
    [5, 'number'],
    [7, 'null'],
    [8, 'array'],
    [301, 'number'],
  ]);
  expect(drift[1]?.example).toBe(String(2n ** 80n));
});

test('a record of thousands of parts finds the members of each without reading all of them', () => {
  const extra = Object.fromEntries(
    Array.from({ length: 50_000 }, (_, index) => [`transactions.h${index}.grown`, index]),
  );
  let found = 0;
  for (let index = 0; index < 50_000; index += 1)
    if (extraWithin(extra, `transactions.h${index}`)?.['grown'] === index) found += 1;
  expect(found).toBe(50_000);
  expect(extraWithin({ 'a.b': 1, ab: 2, 'a.c.d': 3 }, 'a')).toEqual({ b: 1, 'c.d': 3 });
});
