import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { openDatabase } from '../../src/postgres/database.ts';
import { DatabaseUnavailableError } from '../../src/errors.ts';
import { expectCopiesAtOnce } from '../support/database/copies-at-once.ts';
import { createDatabase } from '../support/database/postgres.ts';

/** An error event without a listener would fail the run. */
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

test('a transaction sends a COPY and the statements behind it at once, and drops its data if the COPY fails', async () => {
  const { url, drop } = await createDatabase();
  const database = await openDatabase({ url, applicationName: 'test', maxConnections: 1 });
  try {
    await expectCopiesAtOnce(database);
  } finally {
    await database.close();
    await drop();
  }
});

/** Without the error, an export would silently hold fewer rows than are covered. */
test('a snapshot in which a policy would hide rows is an error', async () => {
  const { url, drop } = await createDatabase();
  const database = await openDatabase({ url, applicationName: 'test' });
  const Row = z.object({ id: z.number() });
  const look = (isSnapshot: boolean) =>
    database.transaction(
      async (session) => {
        await session.run(sql`set local role pg_monitor`);
        return session.rows(sql`select id from public.kept`, Row);
      },
      { isSnapshot },
    );
  try {
    await database.script(`create table public.kept (id int); insert into public.kept values (1), (2);
      grant select on public.kept to pg_monitor; alter table public.kept enable row level security;
      create policy little on public.kept to pg_monitor using (id = 1)`);
    expect(await look(false)).toEqual([{ id: 1 }]);
    await expect(look(true)).rejects.toThrow('row-level security');
  } finally {
    await database.close();
    await drop();
  }
});
