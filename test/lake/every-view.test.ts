import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openEngine } from '../../src/lake/engine.ts';
import { openLakeReader, viewsIn } from '../../src/lake/open-lake.ts';
import { packageRoot } from '../../src/package.ts';
import { openDatabase } from '../../src/postgres/database.ts';
import { runSql } from '../../src/read/free-sql.ts';
import { openCrawledStore } from '../support/database/crawled-store.ts';
import { exported } from '../support/lake.ts';
import { roundedValue } from '../support/lake-values.ts';
import { twoDays } from '../support/two-days.ts';
import { thorough } from '../support/thorough.ts';

thorough('every view of a lake returns the same as in the database', async () => {
  const store = await openCrawledStore(twoDays);
  // Accounts and jettons that a person lists.
  await store.ask(
    `insert into etl.stable_jettons select asset, 'USDX', 9 from etl.asset_trades group by asset order by count(*) desc, asset limit 1`,
  );
  await store.ask(
    `insert into etl.labels (address, label, category, imported_from) select account, 'Hot wallet', 'CEX', 'x.csv' from ton.transactions limit 1`,
  );
  await store.ask('delete from ton.token_metadata');
  const database = await openDatabase({ url: store.url, applicationName: 'curated' });
  const [engine, directory] = [await openEngine(), await mkdtemp(join(tmpdir(), 'toncenter-etl-curated-'))];
  try {
    const span = { from: '2026-01-31', to: '2026-02-02', only: ['all'] };
    expect((await exported(store.url, { ...span, out: directory, format: 'parquet' })).code).toBe(0);
    // The same lists for the lake, in the way that a person makes them there.
    await engine.ask('create schema etl');
    for (const [name, columns] of [
      ['stable_jettons', 'address varchar, symbol varchar, decimals int'],
      ['labels', 'address varchar, label varchar, category varchar, organization varchar'],
    ] as const) {
      const cells = [...columns.matchAll(/(\w+) \w+/g)].map(([, column]) => `quote_nullable(${column})`);
      const [list] = await store.ask(
        `select string_agg('(' || concat_ws(', ', ${cells.join(', ')}) || ')', ', ') as rows from etl.${name}`,
      );
      await engine.ask(
        `create table etl.${name} (${columns}); insert into etl.${name} values ${list?.['rows'] ?? ''}`,
      );
    }
    const askLake = await openLakeReader(engine, directory);
    const different: string[] = [];
    for (const name of await viewNames()) {
      const statement = `select * from ${name}`;
      const { columns, rows } = await runSql(database, statement, { write: false });
      const ofLake = await askLake(statement);
      expect(ofLake.columns, name).toEqual(columns);
      const [here, there] = [rows, ofLake.rows].map((all) =>
        all.map((row) => JSON.stringify(row.map((value) => roundedValue(value, 7)))).sort(),
      );
      if (JSON.stringify(here) !== JSON.stringify(there))
        different.push(
          `${name}: ${here?.find((row) => !there?.includes(row))} / ${there?.find((row) => !here?.includes(row))}`,
        );
    }
    expect(different).toEqual([]);
  } finally {
    await engine.close();
    await database.close();
    await store.close();
    await rm(directory, { recursive: true });
  }
});

/** Views and reports of schema ton that analysts have over a lake, too. */
async function viewNames(): Promise<string[]> {
  const files = ['analyst.sql', 'curated.sql'].map((name) =>
    readFile(join(packageRoot, 'migrations', name), 'utf8'),
  );
  return viewsIn((await Promise.all(files)).join('\n'))
    .map(({ name }) => name.replace(/^etl\.open_/, 'ton.'))
    .filter((name) => name.startsWith('ton.') && name !== 'ton.days');
}
