import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packageRoot } from '../../src/package.ts';
import { demoNetwork } from '../../src/app/open-crawl.ts';
import { openCli } from '../support/program/cli.ts';
import { openCrawledStore } from '../support/database/crawled-store.ts';

/*
 * Runs the examples of docs/analyst/python.md unchanged: `PYTHON=/path/of/a/venv/bin/python npm run test:long
 * -- python`. `pip install pandas polars duckdb "psycopg[binary]" sqlalchemy pyarrow connectorx` installs
 * what they import, and `install postgres` DuckDB's extension.
 */

const PYTHON = process.env['PYTHON'] ?? 'python3';
const MODULES = 'pandas, polars, duckdb, psycopg, sqlalchemy, pyarrow, connectorx';
const isThere = spawnSync(PYTHON, ['-c', `import ${MODULES}\nduckdb.sql('load postgres')`]).status === 0;
if (!isThere)
  console.warn(`skipped: ${PYTHON} cannot import ${MODULES}, or DuckDB has no extension for Postgres`);

const PLACEHOLDER = 'toncenter_reader:…@127.0.0.1:5432/toncenter_etl';
const NAME = `python_${process.pid}`;

/** What must hold after each example, in their order. */
const CHECKS = [
  `from decimal import Decimal
assert all(isinstance(value, Decimal) for value in fees["fees"])
print(sum(fees["fees"]))`,
  `assert fees.schema["fees"] == pl.Decimal(38, 0)
print(fees["fees"].sum())`,
  `print(db.sql("select sum(total_fees) from pg.ton.transactions where utime >= '2026-01-01 01:00:00Z' and utime < '2026-01-01 02:00:00Z'").fetchone()[0])`,
  `frame = pd.read_parquet("january/transactions", dtype_backend="pyarrow")
print(sum(frame["total_fees"]))
print(pl.scan_parquet("january/transactions/*/*.parquet").select(pl.col("total_fees").sum()).collect().item())
assert len(duckdb.sql("select * from 'january/jetton_masters/*/*.parquet' limit 1").df()) <= 1`,
  '',
];

test.skipIf(!isThere)('the examples for Python run unchanged, and lose no nanoton', async () => {
  const store = await openCrawledStore({ name: 'demo', options: demoNetwork });
  const cli = await openCli();
  const directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-python-'));
  const settings = { DATABASE_URL: store.url };
  const { code, stdout: url, stderr: refusal } = await cli.run(['reader', '--name', NAME], settings);
  expect(code, refusal).toBe(0);
  try {
    const out = join(directory, 'january');
    const exported = await cli.run(
      ['export', '--from', '2026-01', '--to', '2026-02', '--out', out],
      settings,
    );
    expect(exported.stderr).not.toContain('error:');
    const page = readFileSync(join(packageRoot, 'docs/analyst/python.md'), 'utf8');
    const examples = [...page.matchAll(/```python\n([\s\S]*?)```/g)].map(([, code = '']) => code);
    expect(examples).toHaveLength(CHECKS.length);
    expect(page.split(PLACEHOLDER)).toHaveLength(4);
    const program = examples
      .map((code, index) => `${code}\n${CHECKS[index] ?? ''}`)
      .join('\n')
      .replaceAll(PLACEHOLDER, url.trim().replace(/^[a-z]+:\/\//, ''));
    // The day is not read as a whole, and the last example says so.
    const { stdout, stderr } = spawnSync(PYTHON, ['-c', program], { cwd: directory, encoding: 'utf8' });
    expect(stderr).toMatch(/transactions is not covered/);
    const [hour] = await store.ask(`select sum(total_fees) as fees from transactions
      where utime >= '2026-01-01 01:00Z' and utime < '2026-01-01 02:00Z'`);
    const [all] = await store.ask('select sum(total_fees) as fees from transactions');
    const sums = stdout.split('\n').filter((line) => /^\d+$/.test(line));
    expect(sums).toEqual([...[1, 2, 3].map(() => hour?.['fees']), all?.['fees'], all?.['fees']]);
  } finally {
    await store.ask(`drop owned by ${NAME}; drop role ${NAME}`);
    await cli.close();
    await store.close();
    await rm(directory, { recursive: true, force: true });
  }
});
