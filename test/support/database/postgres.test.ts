import pg from 'pg';
import { expect, test } from 'vitest';
import { createDatabase, templateDatabase } from './postgres.ts';

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

test('each database is separate, and gone after drop', async () => {
  const [one, other] = await Promise.all([createDatabase(), createDatabase()]);
  await query(one.url, 'create table t (i int)');
  await expect(query(other.url, 'table t')).rejects.toThrow('does not exist');
  await Promise.all([one.drop(), other.drop()]);
  await expect(query(one.url, 'select 1')).rejects.toThrow('does not exist');
});

test('a template is prepared once, however many ask at the same time, and every copy has its contents', async () => {
  let prepared = 0;
  const copies = await Promise.all(
    Array.from({ length: 4 }, async () => {
      const template = await templateDatabase('harness', async (url) => {
        prepared++;
        await query(url, 'create table t as select generate_series(1, 3) as i');
      });
      return createDatabase({ template });
    }),
  );
  for (const { url } of copies)
    expect(await query(url, 'select count(*)::int as n from t')).toEqual([{ n: 3 }]);
  expect(prepared).toBe(1);
  await Promise.all(copies.map((copy) => copy.drop()));
});
