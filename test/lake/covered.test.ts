import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadDatasets } from '../../src/dataset/load-jobs.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { tablesOf } from '../../src/export/write-rows.ts';
import { readLog, tablesIn } from '../../src/lake/delta-log.ts';
import { withLake, directoryStore, openLakeReader } from '../../src/lake/open-lake.ts';
import { exportLake } from '../../src/lake/export-lake.ts';
import { datasetsNamed } from '../support/crawl.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { exported, logIn, verified, type Outcome } from '../support/lake.ts';
import { twoDays } from '../support/two-days.ts';
import { thorough } from '../support/thorough.ts';

let store: CrawledStore;
let directory: string;

const ALL = { from: '2026-01-31', to: '2026-02-02' };

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-covered-'));
});
afterAll(async () => {
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

type Wanted = Partial<Parameters<typeof exported>[1]> & { readonly out: string };

const run = (wanted: Wanted): Promise<Outcome> =>
  exported(store.url, { ...ALL, format: 'parquet', ...wanted });

describe('covered rows', () => {
  test('are exported whatever datasets the settings name, and no others: a table comes with its own dataset alone', async () => {
    const out = join(directory, 'covered');
    const [coverage, holder] = [`create table held as select * from etl.coverage`, `etl.coverage`];
    await store.ask(coverage);
    await store.ask(`delete from ${holder} where dataset = 'actions'`);
    try {
      expect((await run({ out })).code).toBe(0);
      const names = await tablesIn(directoryStore(out));
      expect(names).toEqual(
        expect.arrayContaining(['blocks', 'nft_transfers', 'jetton_burns', 'jetton_masters']),
      );
      // The dataset traces fills them as well, and covers them nowhere.
      for (const name of ['actions', 'action_accounts', 'action_transactions'])
        expect(names).not.toContain(name);
      for (const name of names) {
        const { parts } = await logIn(out, name);
        expect(
          parts.every(({ grades }) => Object.keys(grades).length === 1),
          name,
        ).toBe(true);
      }
      expect(await verified(out)).toMatchObject({ code: 0, printed: [] });
      await withLake(out, async ({ engine }) => {
        const ask = await openLakeReader(engine, out);
        for (const statement of [
          'select count(*) from actions',
          'select count(*) from swaps',
          'select * from dns_records limit 1',
          `select count(*) from actions where type = 'x' and day = '2026-01-31'`,
          'select count(*) from blocks b left join actions a on a.utime = b.utime',
        ])
          await expect(ask(statement), statement).rejects.toThrow(
            /the lake has no part of (actions|dns_records).*toncenter-etl backfill --only (actions|dns_records)/,
          );
        expect((await ask('select count(*) > 0 from transactions')).rows).toEqual([['t']]);
      });
      const csv = join(directory, 'covered-csv');
      const { printed } = await run({ out: csv, format: 'csv' });
      expect(printed.join('\n')).not.toContain(' actions.csv');
    } finally {
      await store.ask(`insert into etl.coverage select * from held where dataset = 'actions'`);
      await store.ask('drop table held');
    }
  });

  test.each(['parquet', 'csv'])(
    'that were requested and are missing are named, with exit code 3: %s',
    async (format) => {
      const out = join(directory, `none-${format}`);
      const { code, errors } = await run({ out, format, only: ['blocks', 'dns_auctions'] });
      expect([code, errors.filter((line) => line.startsWith('not exported'))]).toEqual([
        3,
        [expect.stringMatching(/^not exported: dns_auctions: nothing of it is covered in /)],
      ]);
      expect(
        await run({ out, format, only: ['blocks'], from: '2020-01-01', to: '2020-01-02' }),
      ).toMatchObject({
        code: 3,
        errors: expect.arrayContaining([expect.stringMatching(/^not exported: blocks: nothing/)]) as unknown,
      });
    },
  );

  thorough(
    'are all that is exported: rows without covered seconds are named, whatever was requested',
    async () => {
      const out = join(directory, 'by-block');
      await store.ask(
        `insert into etl.cursors (dataset, scope, cursor) values ('shard_states', 'per_block', '{}') on conflict do nothing`,
      );
      const { errors } = await run({ out });
      expect(errors.join('\n')).toContain('not exported: shard_states: its rows are complete by block');
    },
  );

  test('are missing from a csv export: it says what part of the range is lacking', async () => {
    const wanted = {
      only: ['blocks'],
      format: 'csv',
      out: join(directory, 'cut'),
      from: '2026-01-31',
      to: '2026-02-03',
    };
    const { printed } = await run(wanted);
    expect(printed[0]).toEqual(
      expect.stringMatching(
        /^written blocks.csv: \d+ rows, incomplete: lacks 2026-01-31T00:00:00Z \.\. 2026-01-31T23:25:\d\dZ, .* \.\. 2026-02-03T00:00:00Z$/,
      ),
    );
  });

  test('whatever contracts say of themselves gets into the lake', async () => {
    const out = join(directory, 'told');
    const widest = '9'.repeat(38);
    // The first rows by key, from which a reader would infer types.
    await store.ask(
      `insert into token_metadata (address, is_indexed, name, description) values ('!', true, E'a\\r\\nb', E'\\r')`,
    );
    await store.ask(
      `insert into jetton_masters select (jsonb_populate_record(m, jsonb_build_object('address', '!', 'total_supply', '${widest}'))).* from jetton_masters m limit 1`,
    );
    try {
      expect((await run({ only: ['token_metadata', 'jetton_masters', 'blocks'], out })).code).toBe(0);
      await withLake(out, async ({ engine }) => {
        const ask = await openLakeReader(engine, out);
        const names = await ask(`select name, description from token_metadata where address = '!'`);
        expect(names.rows).toEqual([['a\r\nb', '\r']]);
        const supply = await ask(
          `select total_supply, exact_values->>'total_supply' from jetton_masters where address = '!'`,
        );
        expect(supply.rows).toEqual([[widest, null]]);
      });
    } finally {
      await store.ask(`delete from token_metadata where address = '!'`);
      await store.ask(`delete from jetton_masters where address = '!'`);
    }
  });
});

thorough('a day that grows minute by minute has a dozen parts at most', async () => {
  const out = join(directory, 'minutes');
  const start = Date.UTC(2026, 1, 1) / 1000;
  const available = await loadDatasets();
  const tables = tablesOf(await datasetsNamed('validator_events'), available);
  const database = await openDatabase({ url: store.url, applicationName: 'test' });
  await store.ask(`create table held as select * from etl.coverage where dataset = 'validator_events'`);
  await store.ask(
    `update etl.coverage set covered = int8multirange(int8range(${start}, ${start + 86_400})) where dataset = 'validator_events'`,
  );
  try {
    const counts: number[] = [];
    const never = new AbortController().signal;
    const stop = { finishing: never, leaving: never };
    const onFault = (error: Error) => expect.fail(error.message);
    const shared = { database, tables, stop, isQuick: true, onPart: () => undefined, onFault };
    await withLake(out, async (growing) => {
      for (let minute = 1; minute <= 40; minute += 1) {
        const now = start + 60 * minute;
        await exportLake({ ...shared, lake: growing, range: { from: start, to: now }, now });
        counts.push((await readLog(growing, 'validator_events')).parts.length);
      }
    });
    expect(Math.max(...counts)).toBeLessThanOrEqual(12);
    const { parts } = await logIn(out, 'validator_events');
    expect(parts.at(0)?.span.from).toBe(start);
    expect(parts.at(-1)?.span.to).toBe(start + 40 * 60);
    expect(await verified(out)).toMatchObject({ code: 0, printed: [] });
  } finally {
    await database.close();
    await store.ask(
      `update etl.coverage c set covered = h.covered from held h where (c.dataset, c.scope, c.pass) = (h.dataset, h.scope, h.pass)`,
    );
    await store.ask('drop table held');
  }
});
