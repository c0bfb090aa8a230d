import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT, LakeError, NoScratchError } from '../../src/errors.ts';
import { openEngine, type Engine } from '../../src/lake/engine.ts';
import { openDuck } from '../support/duck.ts';

const COLUMNS = [
  { name: 'hash', type: 'text' },
  { name: 'value', type: 'numeric' },
];
const LARGEST = '9'.repeat(38);

let engine: Engine;
let folder: string;
beforeAll(async () => {
  engine = await openEngine();
  folder = await mkdtemp(join(tmpdir(), 'toncenter-etl-engine-'));
});
afterAll(async () => {
  await engine.close();
  await rm(folder, { recursive: true });
});

test('amounts of up to 38 digits are decimals, to the last digit; larger ones are text next to them', async () => {
  const fitting = [LARGEST, `-${LARGEST}`, '0', '9007199254740993', null];
  const others = [
    `1${'0'.repeat(38)}`,
    '9'.repeat(45),
    `-${'9'.repeat(77)}`,
    '1.5',
    '2.0',
    'NaN',
    '-Infinity',
  ];
  const amounts = [...fitting, ...others];
  const [rows, parquet] = [join(folder, 'rows'), join(folder, 'rows.parquet')];
  await writeFile(rows, `\n${amounts.map((amount, at) => `${at},\t${amount ?? '\\N'}\n`).join('')}`);
  await engine.toParquet(rows, COLUMNS, parquet);
  const duck = await openDuck();
  const found = await duck.rows(
    `select hash, typeof(value), value::varchar, exact_values->>'value' from '${parquet}'`,
  );
  duck.close();
  expect(found).toEqual(
    amounts.map((amount, at) => [
      `${at},`,
      'DECIMAL(38,0)',
      ...(at < fitting.length ? [amount, null] : [null, amount]),
    ]),
  );
});

test('a failure of DuckDB is one sentence, without the rows that it quotes', async () => {
  const rows = join(folder, 'torn');
  await writeFile(rows, '\nfirst\t1\nsecret\n');
  const failed = engine.toParquet(rows, COLUMNS, join(folder, 'torn.parquet'));
  await expect(failed).rejects.toThrow(LakeError);
  await expect(failed).rejects.toThrow(/^DuckDB failed: [^\n]*$/);
});

/** Every process id is lower. */
const NOBODYS_PID = 2 ** 22 + 1;
const NOBODY = 65_534;

/** Opens an engine as an ordinary user, with its temporary files in a directory. */
async function openIn(directory: string): Promise<Engine> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await openEngine(directory);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test.each([0o555, undefined])('a closed directory for its temporary files (%s) is named', async (mode) => {
  const directory = join(folder, `place-${String(mode)}`);
  if (mode !== undefined) await mkdir(directory, { mode });
  const failure = await openIn(directory).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NoScratchError);
  expect(failure).toMatchObject({ exitCode: EXIT.usage });
  expect(String(failure)).toContain(`no directory can be created in ${directory}`);
});

test('files of another user there, and a directory that cannot be listed, are no obstacle', async () => {
  await chmod(folder, 0o755);
  const directory = join(folder, 'shared');
  const left = join(directory, `toncenter-etl-lake-${hostname()}-${NOBODYS_PID}-abcdef`);
  await mkdir(left, { recursive: true });
  await writeFile(join(left, 'rows'), '');
  await chmod(left, 0);
  for (const mode of [0o1777, 0o1733]) {
    await chmod(directory, mode);
    await (await openIn(directory)).close();
  }
  await chmod(left, 0o700);
});
