import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EXIT, NoScratchError, UsageError } from '../../src/errors.ts';
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

async function written(lines: readonly string[]): Promise<string> {
  const [csv, parquet] = [join(folder, 'rows.csv'), join(folder, 'rows.parquet')];
  await writeFile(csv, lines.map((line) => `${line}\n`).join(''));
  await engine.toParquet(csv, COLUMNS, parquet);
  return parquet;
}

test('amounts of up to 38 digits are decimals, to the last digit and in their order', async () => {
  const amounts = [LARGEST, `-${LARGEST}`, '0', '9007199254740993', ''];
  const parquet = await written(amounts.map((amount, at) => `"${at},",${amount}`));
  const duck = await openDuck();
  const rows = await duck.rows(`select hash, typeof(value), value::varchar from '${parquet}'`);
  duck.close();
  expect(rows).toEqual(
    amounts.map((amount, at) => [`${at},`, 'DECIMAL(38,0)', amount === '' ? null : amount]),
  );
});

test.each(['1' + '0'.repeat(38), '9'.repeat(45), `-${'9'.repeat(77)}`])(
  'the amount %s fits into no decimal, and is never another one',
  async (amount) => {
    await expect(written([`a,${amount}`])).rejects.toThrow(UsageError);
    await expect(written([`a,${amount}`])).rejects.toThrow('a value does not fit its type in Parquet');
  },
);

/** The ids of processes end below it. */
const NOBODYS_PID = 2 ** 22 + 1;
const NOBODY = 65_534;

/** Opens an engine as an ordinary user, whose files of the moment lie in a directory. */
async function openIn(directory: string): Promise<Engine> {
  const isRoot = process.geteuid?.() === 0;
  if (isRoot) process.seteuid?.(NOBODY);
  try {
    return await openEngine(directory);
  } finally {
    if (isRoot) process.seteuid?.(0);
  }
}

test.each([0o555, undefined])('a place for its files that is closed (%s) is named', async (mode) => {
  const place = join(folder, `place-${String(mode)}`);
  if (mode !== undefined) await mkdir(place, { mode });
  const failure = await openIn(place).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(NoScratchError);
  expect(failure).toMatchObject({ exitCode: EXIT.usage });
  expect(String(failure)).toContain(`no directory can be created in ${place}`);
});

test('what another user left there, and a place that cannot be listed, are no hindrance', async () => {
  await chmod(folder, 0o755);
  const place = join(folder, 'shared');
  const left = join(place, `toncenter-etl-lake-${hostname()}-${NOBODYS_PID}-abcdef`);
  await mkdir(left, { recursive: true });
  await writeFile(join(left, 'rows'), '');
  await chmod(left, 0);
  for (const mode of [0o1777, 0o1733]) {
    await chmod(place, mode);
    await (await openIn(place)).close();
  }
  await chmod(left, 0o700);
});
