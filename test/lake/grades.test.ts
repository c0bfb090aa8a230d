import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { exported, logIn } from '../support/lake.ts';
import { twoDays } from '../support/two-days.ts';

let store: CrawledStore;
let directory: string;

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-grades-'));
});
afterAll(async () => {
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

const run = () =>
  exported(store.url, {
    ...{ from: '2026-01-31', to: '2026-02-02', format: 'parquet' },
    ...{ only: ['jetton_transfers'], out: directory },
  });

test('trusts a part no further than covered once a second of it is a hole, and again when that is read', async () => {
  const grades = async () =>
    (await logIn(directory, 'jetton_transfers')).parts.map(
      ({ grades: { jetton_transfers } }) => jetton_transfers,
    );
  const set = (text: string) =>
    store.ask(`update etl.coverage set ${text} where dataset = 'jetton_transfers' and pass = 0`);
  await store.ask(
    `insert into etl.grades (dataset, grade, proves, blind_to) values ('jetton_transfers', 'cross-checked', '', '')
     on conflict do nothing`,
  );
  await set('verified = covered');
  await run();
  expect(await grades()).toEqual(['cross-checked', 'cross-checked']);
  // A check has missed a row there.
  const second = Date.UTC(2026, 0, 31, 23, 40) / 1000;
  const hole = `int8multirange(int8range(${second}, ${second + 1}))`;
  await set(`covered = covered - ${hole}, verified = verified - ${hole}`);
  await run();
  expect(await grades()).toEqual(['covered', 'cross-checked']);
  // It knows nothing about rows that the database does not have.
  await set(`covered = '{}', verified = '{}'`);
  await run();
  expect(await grades()).toEqual(['covered', 'cross-checked']);
  await set(`covered = int8multirange(int8range(${store.span.from}, ${store.span.to}))`);
  await set('verified = covered');
  await run();
  expect(await grades()).toEqual(['cross-checked', 'cross-checked']);
  await set(`verified = '{}'`);
});
