import { sql } from 'drizzle-orm';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { answersOf } from '../../src/postgres/sql.ts';
import { openDatabase, type Database } from '../../src/postgres/database.ts';
import { createDatabase } from '../support/database/postgres.ts';

const Row = z.object({ id: z.number() });

async function withTable(work: (database: Database) => Promise<void>): Promise<void> {
  const { url, drop } = await createDatabase();
  const database = await openDatabase({ url, applicationName: 'test' });
  try {
    await database.script('create table public.came (id int primary key, place serial)');
    await work(database);
  } finally {
    await database.close();
    await drop();
  }
}

const came = (database: Database) => database.rows(sql`select id from public.came order by place`, Row);

test('statements that are sent together run in the order in which they were sent', async () => {
  await withTable(async (database) => {
    const ids = Array.from({ length: 60 }, (_, index) => index);
    const answers = await database.transaction((session) =>
      answersOf(
        ids.map(async (id) => {
          if (id % 3 === 0) return session.run(sql`insert into public.came (id) values (${id})`);
          if (id % 3 === 1)
            return session.run(sql`insert into public.came (id) select ${id} from pg_sleep(0.002)`);
          return (await session.rows(sql`insert into public.came (id) values (${id}) returning id`, Row))
            .length;
        }),
      ),
    );
    expect(answers).toEqual(ids.map(() => 1));
    expect(await came(database)).toEqual(ids.map((id) => ({ id })));
  });
});

test('of statements that are sent together the first error counts, not that of later ones', async () => {
  await withTable(async (database) => {
    const written = database.transaction((session) =>
      answersOf([
        session.run(sql`insert into public.came (id) values (1)`),
        session.run(sql`insert into public.came (id) values (1)`),
        session.run(sql`insert into public.came (id) values (2)`),
      ]),
    );
    await expect(written).rejects.toThrow('duplicate key');
    expect(await came(database)).toEqual([]);
  });
});

/** A lock timeout is retried; an aborted transaction is not, whatever the reason. */
test('the first error counts, even if earlier statements in the order fail later', async () => {
  await withTable(async (database) => {
    const written = database.transaction((session) =>
      answersOf([
        session
          .run(sql`select pg_sleep(0.05)`)
          .then(() => session.run(sql`insert into public.came (id) values (1)`)),
        session.run(sql`select 1 / 0`),
      ]),
    );
    await expect(written).rejects.toThrow('division by zero');
  });
});

/** A statement that is sent behind the `rollback` of its transaction would still be written. */
test('nothing that was sent together continues behind a transaction that failed meanwhile', async () => {
  await withTable(async (database) => {
    const insert = (id: number) => sql`insert into public.came (id) values (${id})`;
    const written = database.transaction((session) =>
      answersOf([
        session.run(insert(1)).then(() => {
          throw new Error('not ours');
        }),
        (async () => {
          for (const id of [2, 3, 4, 5]) await session.run(insert(id));
        })(),
      ]),
    );
    await expect(written).rejects.toThrow('not ours');
    expect(await came(database)).toEqual([]);
  });
});
