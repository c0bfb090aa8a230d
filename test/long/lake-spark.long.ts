import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { tablesIn } from '../../src/lake/delta-log.ts';
import { directoryStore } from '../../src/lake/open-lake.ts';
import { demoNetwork } from '../../src/app/open-crawl.ts';
import { toSpark } from '../../tools/docs/to-spark.ts';
import { openCrawledStore } from '../support/database/crawled-store.ts';
import { plainValue } from '../support/lake-values.ts';
import { pageFor, questionsFor } from '../support/lake-page.ts';
import { logIn } from '../support/lake.ts';
import { wholeLake } from '../support/lived-lake.ts';

/*
 * Spark reads every table of a lake through its Delta log, and answers the analysts' questions through the
 * views of docs/analyst/lake-spark.sql. It needs `pip install pyspark==4.0.1 delta-spark==4.0.1`, a JRE of
 * Java 17, and Maven for the jars of Delta; `PYTHON` names the interpreter that has them.
 */

const PYTHON = process.env['PYTHON'] ?? 'python3';
const isThere = spawnSync(PYTHON, ['-c', 'import pyspark, delta']).status === 0;
if (!isThere) console.warn(`skipped: ${PYTHON} cannot import pyspark and delta`);

const PROGRAM = `
import json, sys
from decimal import Decimal
from pyspark.sql import SparkSession
from delta import configure_spark_with_delta_pip
order = json.load(open(sys.argv[1]))
builder = SparkSession.builder.master("local[1]")
for name, value in {
    "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "1", "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.warehouse.dir": order["warehouse"],
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"}.items():
    builder = builder.config(name, value)
spark = configure_spark_with_delta_pip(builder).getOrCreate()
def printed(value):
    if value is None: return None
    if isinstance(value, bool): return value
    return format(value, "f") if isinstance(value, Decimal) else str(value)
def ask(statement):
    try:
        return {"rows": [[printed(value) for value in row] for row in spark.sql(statement).collect()]}
    except Exception as error:
        return {"failure": str(error).split("\\n")[0]}
made = [ask(statement) for statement in order["views"]]
json.dump({"made": made, "answers": [ask(statement) for statement in order["questions"]]}, open(sys.argv[2], "w"))
`;

const Answer = z.object({
  rows: z.array(z.array(z.union([z.string(), z.boolean(), z.null()]))).optional(),
  failure: z.string().optional(),
});
const Answered = z.object({ made: z.array(Answer), answers: z.array(Answer) });

test.skipIf(!isThere)(
  'Spark reads the same rows, and answers as Postgres does',
  async () => {
    const store = await openCrawledStore({ name: 'demo', options: demoNetwork });
    const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-spark-'));
    try {
      await store.ask(`set timezone = 'UTC'`);
      const lake = join(directory, 'lake');
      await wholeLake(store, lake);
      const tables = await tablesIn(directoryStore(lake));
      const page = await pageFor('spark', new Set(tables));
      const asked = questionsFor(page);
      const counts = tables.map((name) => `select count(*) from delta.\`${lake}/${name}\``);
      const [program, order, answered] = ['read.py', 'order.json', 'answered.json'].map((name) =>
        join(directory, name),
      );
      await writeFile(program ?? '', PROGRAM);
      const statements = [...counts, ...asked.map(({ statement }) => toSpark(statement))];
      const views = [`set lake=${lake}`, ...page.statements];
      const wanted = { warehouse: join(directory, 'warehouse'), views, questions: statements };
      await writeFile(order ?? '', JSON.stringify(wanted));
      await promisify(execFile)(PYTHON, [program ?? '', order ?? '', answered ?? ''], {
        cwd: directory,
        maxBuffer: 2 ** 26,
      });
      const { made, answers } = Answered.parse(JSON.parse(await readFile(answered ?? '', 'utf8')));
      expect(made.flatMap(({ failure }) => failure ?? [])).toEqual([]);
      for (const [at, name] of tables.entries()) {
        const { parts } = await logIn(lake, name);
        const rows = parts.reduce((sum, part) => sum + part.rows, 0);
        expect(answers[at], name).toEqual({ rows: [[String(rows)]] });
      }
      for (const [at, { title, statement }] of asked.entries()) {
        const expected = (await store.ask(statement)).map((row) => Object.values(row).map(plainValue));
        const answer = answers[tables.length + at];
        expect({ ...answer, rows: answer?.rows?.map((row) => row.map(plainValue)) }, title).toEqual({
          rows: expected,
        });
      }
    } finally {
      await store.close();
      await rm(directory, { recursive: true });
    }
  },
  3_600_000,
);
