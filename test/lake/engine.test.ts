import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
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
