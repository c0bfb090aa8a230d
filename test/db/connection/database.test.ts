import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openDatabase } from '../../../src/db/connection/database.ts';
import { DatabaseUnavailableError } from '../../../src/errors.ts';
import { createDatabase } from '../../support/database/postgres.ts';

/** An error event that nobody listens for would fail the run. */
test('sessions that the server ends are errors of their queries and of nothing else', async () => {
  const { url, drop } = await createDatabase();
  const database = await openDatabase({ url, applicationName: 'test', maxConnections: 4 });
  const End = z.object({ ended: z.boolean() });
  try {
    for (let round = 0; round < 10; round += 1) {
      const ends = Array.from({ length: 4 }, () =>
        database.rows(sql`select pg_terminate_backend(pg_backend_pid()) as ended`, End),
      );
      for (const outcome of await Promise.allSettled(ends))
        expect(outcome.status === 'rejected' && outcome.reason).toBeInstanceOf(DatabaseUnavailableError);
    }
    expect(await database.rows(sql`select true as ended`, End)).toEqual([{ ended: true }]);
  } finally {
    await database.close();
    await drop();
  }
});
