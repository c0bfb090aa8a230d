/*
 * Compiles and runs the examples of docs/library.md in a project that has installed the packed package,
 * `typescript`, `@types/node` and `@types/pg`: `node tools/package/try-library.js PROJECT`. They read the
 * demo network into the embedded Postgres, and a time of that network instead of the last hour.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const project = resolve(process.argv[2] ?? '.');
const page = readFileSync(join(project, 'node_modules/toncenter-etl/docs/library.md'), 'utf8');
const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, block]) => block);
if (blocks.length !== 3) throw new Error('docs/library.md has other examples than three');
const [read, run, addresses] = blocks;

const settings = { TONCENTER_NETWORK: 'demo', ETL_DATASETS: 'blocks', ETL_DATA_DIR: join(project, 'data') };
const program = [
  run,
  `const again = await openIndex(${JSON.stringify(settings)}); process.env.DATABASE_URL = again.databaseUrl;`,
  read,
  addresses,
  'console.log(newest.length, raw, friendly);',
  'await db.$client.end(); await again.close();',
]
  .join('\n')
  .replace("{ TONCENTER_API_KEY: '…', ETL_DATASETS: 'transactions' }", JSON.stringify(settings))
  .replace("from: '-1h', to: 'now'", "from: '2026-01-01', to: '2026-01-01T00:05Z'")
  .replace(
    "missing('transactions', { from: '-1h', to: '-5m' })",
    "missing('blocks', { from: '2026-01-01', to: '2026-01-01T00:06Z' })",
  );
writeFileSync(join(project, 'program.mts'), program);
// drizzle-orm's types require those of every database's driver.
const options = [
  '--module',
  'nodenext',
  '--target',
  'es2023',
  '--strict',
  '--skipLibCheck',
  '--types',
  'node',
];
execFileSync('npx', ['tsc', ...options, 'program.mts'], { cwd: project, stdio: 'inherit' });
const printed = execFileSync(process.execPath, ['program.mjs'], { cwd: project, encoding: 'utf8' });
process.stdout.write(printed);
if (!/^true \[ \{ from: \d+, to: \d+ \} \]/m.test(printed))
  throw new Error('the backfill has not covered its range');
if (!/^0 0:83DFD552\w+ UQ/m.test(printed)) throw new Error('no address was read');
