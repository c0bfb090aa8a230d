import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { formatAddress } from '../../src/ton/address.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openCli, type Cli } from '../support/program/cli.ts';

let cli: Cli;
let store: TestStore;
let directory: string;

beforeAll(async () => {
  [cli, store] = [await openCli(), await openTestStore()];
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-labels-'));
});
afterAll(async () => {
  await cli.close();
  await store.close();
  await rm(directory, { recursive: true });
});

const account = (digit: string) => `0:${digit.repeat(64)}`;

async function importing(name: string, text: string) {
  const path = join(directory, name);
  await writeFile(path, text);
  return cli.ask(['labels', 'import', path], { DATABASE_URL: store.url });
}

const labels = async () =>
  (
    await store.database.rows(
      sql`select concat_ws('|', right(address, 1), label, coalesce(category, '-'), coalesce(organization, '-')) as row
          from ton.labels order by address`,
      z.object({ row: z.string() }),
    )
  ).map(({ row }) => row);

test('a CSV file names accounts, in any form of their addresses; its next import replaces it', async () => {
  const text = [
    '\uFEFFOrganization,Address,Label,Category,source',
    `Acme,${account('A')},"Acme, hot ""1""",CEX,x`,
    `,${formatAddress(account('B'))},Bot,,x`,
    `,${'c'.repeat(64)},"two`,
    `lines",,x`,
    `Acme,${account('A')},Acme cold,CEX,x`,
    '',
  ].join('\r\n');
  const first = await importing('one.csv', text);
  expect(first).toMatchObject({ code: 0, stdout: 'labelled  3 accounts by one.csv\n' });
  expect(await labels()).toEqual(['A|Acme cold|CEX|Acme', 'B|Bot|-|-', 'C|two\r\nlines|-|-']);
  const other = await importing('other.csv', `account,name\n${account('B')},Builder\n`);
  // The file's own former labels are not reported, and neither are equal labels of another file.
  expect(other).toMatchObject({
    code: 0,
    stdout: `labelled  1 accounts by other.csv\nreplaced  1 labels of other files, the first: ${account('B')} is "Builder", and was "Bot" by one.csv\n`,
  });
  for (const file of ['other.csv', 'third.csv'])
    expect((await importing(file, `account,name\n${account('B')},Builder\n`)).stdout).toBe(
      `labelled  1 accounts by ${file}\n`,
    );
  expect((await importing('one.csv', `address,label\n${account('D')},Dora\n`)).code).toBe(0);
  expect(await labels()).toEqual(['B|Builder|-|-', 'D|Dora|-|-']);
});

test('rows that name no account are refused by their number, and the other rows are stored', async () => {
  const { code, stdout } = await importing(
    'odd.csv',
    `address,label\n${account('E')},Eve\nnobody,x\n${account('F')},\n`,
  );
  expect(stdout).toMatch(
    /^labelled {2}1 accounts by odd\.csv\nrefused {3}2 rows, the first: row 2: "nobody" is not an address/,
  );
  expect(code).toBe(3);
});

test.each([
  ['label', 'a\0b,c,d'],
  ['category', 'a,\0,d'],
  ['organization', 'a,c,d\0'],
])('a NUL in the %s refuses its row alone', async (_, cells) => {
  const rows = [`${account('A')},${cells}`, `${account('B')},Bea,c,d`];
  const { code, stdout } = await importing(
    'nul.csv',
    ['address,label,category,organization', ...rows, ''].join('\n'),
  );
  expect(stdout).toMatch(/^labelled {2}1 accounts by nul\.csv\n/);
  expect(stdout).toContain('refused   1 rows, the first: row 1: it has a character NUL');
  expect(code).toBe(3);
  await importing('nul.csv', 'address,label\n');
});

test.each([
  [
    'no.csv',
    'label,category\nx,y\n',
    /no\.csv has no column address or account\nhint: Its header has label, category\./,
  ],
  ['half.csv', `address\n${account('A')}\n`, /half\.csv has no column label or name/],
])('%s is refused whole', async (name, text, message) => {
  const before = await labels();
  const { code, stderr } = await importing(name, text);
  expect(stderr).toMatch(message);
  expect(code).toBe(2);
  expect(await labels()).toEqual(before);
});

test('a missing file is a usage error', async () => {
  const { code, stderr } = await cli.ask(['labels', 'import', join(directory, 'none.csv')], {
    DATABASE_URL: store.url,
  });
  expect(stderr).toMatch(/^error: cannot read .*none\.csv/);
  expect(code).toBe(2);
});
