import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { demoNetwork } from '../../src/app/open-crawl.ts';
import { toClickHouse } from '../../tools/docs/to-clickhouse.ts';
import { openCrawledStore } from '../support/database/crawled-store.ts';
import { pageFor, questionsFor } from '../support/lake-page.ts';
import { plainValue } from '../support/lake-values.ts';
import { LIVED, livedLake, rowsInDatabase, wholeLake } from '../support/lived-lake.ts';

/*
 * ClickHouse reads every table of a lake through its Delta log, and answers the analysts' questions through
 * the views of docs/analyst/lake-clickhouse.sql. `pip install chdb==4.4.0` has a ClickHouse 26.9 that runs
 * within Python; `PYTHON` names the interpreter that has it.
 */

const PYTHON = process.env['PYTHON'] ?? 'python3';
const isThere = spawnSync(PYTHON, ['-c', 'import chdb']).status === 0;
if (!isThere) console.warn(`skipped: ${PYTHON} cannot import chdb`);

const PROGRAM = `
import json, sys
from chdb.session import Session
session = Session()
def ask(statement):
    try:
        answered = str(session.query(statement, "JSONCompact"))
        return {"rows": json.loads(answered)["data"] if answered.strip() else []}
    except Exception as error:
        return {"failure": str(error).split("\\n")[0]}
with open(sys.argv[1]) as order: statements = json.load(order)
with open(sys.argv[2], "w") as answered: json.dump([ask(statement) for statement in statements], answered)
`;

const Value = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const Answer = z.object({ rows: z.array(z.array(Value)).optional(), failure: z.string().optional() });
type Answer = z.infer<typeof Answer>;

const SETTINGS = ['output_format_json_quote_decimals', 'output_format_json_quote_64bit_integers'];

async function answers(directory: string, statements: readonly string[]): Promise<Answer[]> {
  const [program, order, answered] = ['ask.py', 'order.json', 'answered.json'].map((name) =>
    join(directory, name),
  );
  await writeFile(program ?? '', PROGRAM);
  await writeFile(order ?? '', JSON.stringify(statements));
  await promisify(execFile)(PYTHON, [program ?? '', order ?? '', answered ?? ''], { cwd: directory });
  return z.array(Answer).parse(JSON.parse(await readFile(answered ?? '', 'utf8')));
}

/** Reports by day are asked for one day; this one is asked for the only day of the network. */
const inClickHouse = (statement: string): string =>
  toClickHouse(statement.replace('from active_wallets\n', `from active_wallets\nwhere day = '2026-01-01'\n`));

test.skipIf(!isThere)(
  'ClickHouse reads the same rows, and answers as Postgres does',
  async () => {
    const store = await openCrawledStore({ name: 'demo', options: demoNetwork });
    const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-clickhouse-'));
    try {
      await store.ask(`set timezone = 'UTC'`);
      const lake = join(directory, 'lake');
      await wholeLake(store, lake);
      const inDatabase = await rowsInDatabase(store, lake);
      const tables = [...inDatabase.keys()];
      const page = await pageFor('clickhouse', new Set(tables));
      const asked = questionsFor(page);
      const expected: Awaited<ReturnType<typeof store.ask>>[] = [];
      for (const { statement } of asked) expected.push(await store.ask(statement));
      const rows = await livedLake(store, join(directory, 'lived'));

      const views = page.statements.map((text) => text.replaceAll('/data/lake/', `${lake}/`));
      const count = (path: string) => `select count(*) from deltaLakeLocal('${path}')`;
      const answered = await answers(directory, [
        ...SETTINGS.map((name) => `set ${name} = 1`),
        ...views,
        ...tables.map((name) => count(join(lake, name))),
        ...asked.map(({ statement }) => inClickHouse(statement)),
        count(join(directory, 'lived', LIVED)),
        `select count(amount) from deltaLakeLocal('${join(directory, 'lived', LIVED)}')`,
      ]);
      const made = answered.splice(0, SETTINGS.length + views.length);
      expect(made.flatMap(({ failure }) => failure ?? [])).toEqual([]);
      const counted = answered
        .splice(0, tables.length)
        .map((answer) => ({ ...answer, rows: answer.rows?.flat() }));
      expect(counted).toEqual(tables.map((name) => ({ rows: [inDatabase.get(name)] })));
      for (const [at, { title }] of asked.entries()) {
        const answer = answered[at];
        expect({ ...answer, rows: answer?.rows?.map((row) => row.map(plainValue)) }, title).toEqual({
          rows: expected[at]?.map((row) => Object.values(row).map(plainValue)),
        });
      }
      // Parts that the log has removed still exist, and are not read.
      expect(answered.slice(asked.length)).toEqual([{ rows: [[rows]] }, { rows: [[rows]] }]);
    } finally {
      await store.close();
      await rm(directory, { recursive: true });
    }
  },
  3_600_000,
);
