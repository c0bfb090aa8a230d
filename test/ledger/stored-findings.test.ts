import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { readFindings, replaceFindings } from '../../src/ledger/stored-findings.ts';
import { readVerified } from '../../src/write/certificates.ts';
import { databaseTime } from '../../src/postgres/database.ts';
import type { Range } from '../../src/range.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { untilOneWaits } from '../support/database/until-one-waits.ts';

let store: TestStore;

beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());
beforeEach(() => store.database.run(sql`delete from etl.findings`));

test('findings are dropped only for seconds that were checked again', async () => {
  const stream = { dataset: 'validator_events', scope: '' };
  const at = (second: number) => ({ from: second, to: second + 1 });
  const row = { table: 'validator_events', differs: 'differing', datasets: ['validator_events'] };
  const rows = [
    { ...row, key: '', span: { from: 1000, to: 1100 } },
    { ...row, key: 'a row', span: at(2000) },
    { ...row, key: 'a row', span: at(2500), own: at(2500), differs: 'not_in_source' },
    { ...row, key: 'a row', span: at(2600), own: at(2600), differs: 'not_in_source' },
  ];
  const spans = async () =>
    (await readFindings(store.database, stream, [{ from: 0, to: 3000 }])).flatMap(({ rows: named }) =>
      named.map(({ span }) => span),
    );
  const check = 'deep';
  const earlier = await databaseTime(store.database);
  const keep = async (examined: readonly Range[], found: typeof rows = [], began?: string) =>
    replaceFindings(store.database, {
      stream,
      checks: [{ check, examined, rows: found }],
      began: began ?? (await databaseTime(store.database)),
    });
  await keep([], rows);
  // A check that began before may not have seen it.
  await keep([{ from: 0, to: 3000 }], [], earlier);
  await keep([{ from: 1010, to: 1020 }]);
  // A row of the same name in another second is another row.
  const clear = async (second: number, began?: string) =>
    replaceFindings(store.database, {
      stream: { dataset: 'another', scope: '' },
      checks: [],
      right: [{ table: row.table, key: 'a row', second }],
      began: began ?? (await databaseTime(store.database)),
    });
  await clear(1500);
  // A process that read it before the finding does not know of it.
  await clear(2000, earlier);
  const left = [
    { from: 1000, to: 1010 },
    { from: 1020, to: 1100 },
  ];
  expect(await spans()).toEqual([at(2000), ...left, at(2500), at(2600)]);
  // If a row was moved, a check of its old second proves nothing about the new one.
  await keep([at(2000)]);
  expect(await spans()).toEqual([...left, at(2500), at(2600)]);
  // Two surplus copies of a row are two findings.
  await clear(2500);
  expect(await spans()).toEqual([...left, at(2600)]);
  await keep([at(2600)]);
  expect(await spans()).toEqual(left);
  await keep([{ from: 0, to: 3000 }]);
  expect(await spans()).toEqual([]);
});

test('one run replaces the findings of several checks, each over its own seconds', async () => {
  const stream = { dataset: 'validator_events', scope: '' };
  const rowAt = (second: number, key: string) => ({
    table: 'validator_events',
    differs: 'differing',
    datasets: ['validator_events'],
    key,
    span: { from: second, to: second + 1 },
  });
  const replace = async (checks: Parameters<typeof replaceFindings>[1]['checks']) =>
    replaceFindings(store.database, { stream, checks, began: await databaseTime(store.database) });
  const known = async () =>
    (await readFindings(store.database, stream, [{ from: 0, to: 3000 }])).map(({ check, rows }) => [
      check,
      ...rows.map(({ key }) => key),
    ]);
  const rows = [rowAt(100, 'early'), rowAt(200, 'late')];
  await replace(['books', 'links', 'seal'].map((check) => ({ check, examined: [], rows })));
  await replace([
    { check: 'books', examined: [{ from: 0, to: 150 }], rows: [] },
    { check: 'links', examined: [{ from: 150, to: 300 }], rows: [rowAt(210, 'new')] },
  ]);
  expect(await known()).toEqual([
    ['books', 'late'],
    ['links', 'early', 'new'],
    ['seal', 'early', 'late'],
  ]);
});

describe('findings of a run', () => {
  const stream = { dataset: 'validator_events', scope: '', pass: 0 };
  const all = { from: 0, to: 3000 };
  const span = { from: 100, to: 101 };
  const run = (text: string) => store.database.run(sql.raw(text));
  const find = async (key: string) =>
    replaceFindings(store.database, {
      stream,
      began: await databaseTime(store.database),
      checks: [
        {
          check: 'deep',
          examined: [all],
          rows: [
            { table: 'validator_events', key, differs: 'differing', span, datasets: ['validator_events'] },
          ],
        },
      ],
    });
  const known = async () =>
    (await readFindings(store.database, stream, [all])).flatMap(({ rows }) => rows.map(({ key }) => key));

  test('replace all findings of the run before', async () => {
    await find('earlier');
    await run(`alter table etl.findings add constraint refusing check (row_key <> 'later')`);
    await expect(find('later')).rejects.toThrow(/refusing/);
    expect(await known()).toEqual(['earlier']);
    await run(`alter table etl.findings drop constraint refusing`);
    await find('later');
    expect(await known()).toEqual(['later']);
  });

  test('keep their seconds from being certified by a check that is about to', async () => {
    await run(
      `insert into etl.coverage (dataset, scope, pass, covered) values ('validator_events', '', 0, '{[0,3000)}')`,
    );
    let finding: Promise<void> | undefined;
    await store.database.transaction(async (session) => {
      await session.run(sql`update etl.coverage set verified = covered`);
      finding = find('a row');
      await Promise.race([finding, untilOneWaits(store.database, session, '%coverage%for update%')]);
    });
    await finding;
    expect(await readVerified(store.database, stream)).toEqual([
      { from: 0, to: span.from },
      { from: span.to, to: all.to },
    ]);
  });
});
