import { sql } from 'drizzle-orm';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import * as z from 'zod';
import { HashSum } from '../../../src/db/write/hash-text.ts';
import { openTestStore, type TestStore } from '../../support/database/database.ts';

let store: TestStore;
beforeAll(async () => {
  store = await openTestStore();
});
afterAll(() => store.close());

async function sumOfServer(texts: readonly string[]): Promise<string | undefined> {
  const [row] = await store.database.rows(
    sql`select coalesce(sum(hashtextextended(t, 0)), 0)::text as sum
      from json_array_elements_text(${JSON.stringify(texts)}::json) t`,
    z.object({ sum: z.string() }),
  );
  return row?.sum;
}

const ofText = (texts: readonly string[]) => {
  const sum = new HashSum();
  for (const text of texts) sum.add(text, 'text');
  return String(sum.take());
};

it('hashes as the server does, texts of any length', async () => {
  const texts = Array.from({ length: 80 }, (_, length) =>
    'toncenter-etl|0:ABCDEF'.repeat(4).slice(0, length),
  );
  for (const text of texts) expect([text, ofText([text])]).toEqual([text, await sumOfServer([text])]);
  expect(ofText(['x'.repeat(5000), ''])).toBe(await sumOfServer(['x'.repeat(5000), '']));
});

it('adds up hashes as the server does, of whatever characters', async () => {
  const char = fc.integer({ min: 1, max: 0x10_ffff }).filter((code) => code < 0xd800 || code > 0xdfff);
  const text = fc
    .array(
      char.map((code) => String.fromCodePoint(code)),
      { maxLength: 40 },
    )
    .map((all) => all.join(''));
  const many = fc.array(fc.oneof(text, fc.string({ maxLength: 120 })), { maxLength: 300 });
  await fc.assert(
    fc.asyncProperty(many, async (given) => {
      const texts = given.map((one) => one.replaceAll('\0', ''));
      expect(ofText(texts)).toBe(await sumOfServer(texts));
      // The same as bytes, a character for each.
      const sum = new HashSum();
      for (const one of texts) sum.add(Buffer.from(one).toString('latin1'), 'bytes');
      expect(String(sum.take())).toBe(await sumOfServer(texts));
    }),
    { numRuns: 30 },
  );
});

it('begins anew behind a sum', () => {
  const sum = new HashSum();
  sum.add('a', 'text');
  const first = sum.take();
  expect(sum.take()).toBe(0n);
  sum.add('a', 'text');
  expect(sum.take()).toBe(first);
});
