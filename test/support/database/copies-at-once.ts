import { sql } from 'drizzle-orm';
import { expect } from 'vitest';
import * as z from 'zod';
import { answersOf } from '../../../src/postgres/sql.ts';
import type { Database } from '../../../src/postgres/database.ts';

/** More than the system takes at once. */
const LARGE = Array.from({ length: 200 }, () => Buffer.from('1\n'.repeat(32_768)));

const Count = z.object({ count: z.number() });

/** Copies twice into a table in one transaction, and returns how many rows are there then. */
function copied(database: Database, table: string, pieces: Iterable<string | Buffer>) {
  const copy = sql.raw(
    `create temp table given (number int unique) on commit drop; copy ${table} from stdin`,
  );
  return database.transaction(async (session) => {
    const [, , , counts] = await answersOf([
      session.run(sql`set local work_mem = '4MB'`),
      session.copyIn(copy, pieces),
      session.copyIn(sql`copy given from stdin`, ['7\n']),
      session.rows(sql`select count(*)::int as count from given`, Count),
    ]);
    return counts;
  });
}

function* failing() {
  yield '1\n';
  throw new Error('no more of them');
}

/** If a COPY fails, its data is dropped, and the next transaction continues. */
export async function expectCopiesAtOnce(database: Database): Promise<void> {
  expect(await copied(database, 'given', ['1\n2\n', '3\n'])).toEqual([{ count: 4 }]);
  await expect(copied(database, 'given', LARGE)).rejects.toThrow('given_number_key');
  await expect(copied(database, 'nothing', LARGE)).rejects.toThrow('relation "nothing" does not exist');
  await expect(copied(database, 'given', failing())).rejects.toThrow('no more of them');
  expect(await copied(database, 'given', ['1\n'])).toEqual([{ count: 2 }]);
}
