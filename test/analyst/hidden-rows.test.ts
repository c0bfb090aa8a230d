import { randomBytes } from 'node:crypto';
import { sql } from 'drizzle-orm';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { allowReading } from '../../src/migrate/reader.ts';
import { blocks } from '../../src/tables/ton/blocks.ts';
import { createPartitions } from '../../src/write/target.ts';
import { withLogin } from '../../src/settings/postgres-url.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { openCli } from '../support/program/cli.ts';
import { thorough } from '../support/thorough.ts';

const NAME = `reader_${randomBytes(4).toString('hex')}`;

let store: TestStore;
let reader: pg.Client;

beforeAll(async () => {
  store = await openTestStore();
  await createPartitions(store.database, 'month').ensure([blocks], ['2026-01-05T00:00:00Z']);
  await store.database.run(
    sql`insert into etl.coverage (dataset, scope, pass, covered) values ('blocks', '', 0, '{[1767225600,1767312000)}')`,
  );
  const { password = '' } = await allowReading(store.database, { name: NAME, timeout: 60 });
  reader = new pg.Client({ connectionString: withLogin(store.url, NAME, password) });
  await reader.connect();
});
afterAll(async () => {
  await reader.end();
  await store.close();
  const admin = new pg.Client({ connectionString: inject('postgresUrl') });
  await admin.connect();
  await admin.query(`drop role ${NAME}`);
  await admin.end();
});

describe('rows that the role cannot see', () => {
  const RANGE = "'2026-01-01Z', '2026-01-02Z'";
  const complete = (asking = reader) =>
    asking.query(`select etl.assert_complete('blocks', ${RANGE})`).then(
      () => 'true',
      (error: unknown) => `${(error as pg.DatabaseError).message}. ${(error as pg.DatabaseError).hint ?? ''}`,
    );
  const fedBlocks = async () => {
    const { rows } = await reader.query<{ fed: boolean; hint: string | null }>(
      `select fed, hint from etl.fed('blocks', ${RANGE})`,
    );
    return rows;
  };

  const hiding: [what: string, change: string, undo: string, said: RegExp][] = [
    [
      'row-level security of a table',
      'alter table ton.blocks enable row level security',
      'alter table ton.blocks disable row level security',
      /^row-level security hides rows of ton\.blocks from reader_.*alter table ton\.blocks disable row level security/,
    ],
    [
      'a table that another dataset also writes',
      'alter table ton.block_parents enable row level security, force row level security',
      'alter table ton.block_parents disable row level security, no force row level security',
      /hides rows of ton\.block_parents from reader_/,
    ],
    [
      'one partition',
      'alter table etl_partitions.blocks_2026_01_01 enable row level security',
      'alter table etl_partitions.blocks_2026_01_01 disable row level security',
      /hides rows of 1 of the partitions of ton\.blocks \(etl_partitions\.blocks_2026_01_01\)/,
    ],
    [
      'a policy that shows some of the rows',
      'alter table ton.blocks enable row level security; create policy later on ton.blocks using (seqno > 1)',
      'drop policy later on ton.blocks; alter table ton.blocks disable row level security',
      /hides rows of ton\.blocks/,
    ],
    [
      'a policy that shows all rows, and one that hides some',
      `alter table ton.blocks enable row level security; create policy everything on ton.blocks using (true);
       create policy less on ton.blocks as restrictive for select using (seqno > 1)`,
      'drop policy everything on ton.blocks; drop policy less on ton.blocks; alter table ton.blocks disable row level security',
      /hides rows of ton\.blocks/,
    ],
    [
      'a policy for another role',
      'alter table ton.blocks enable row level security; create policy theirs on ton.blocks to postgres using (true)',
      'drop policy theirs on ton.blocks; alter table ton.blocks disable row level security',
      /hides rows of ton\.blocks/,
    ],
    [
      'a missing privilege',
      `revoke select on ton.blocks from ${NAME}`,
      `grant select on ton.blocks to ${NAME}`,
      /^reader_\w+ may not read ton\.blocks.*grant select on ton\.blocks to reader_/,
    ],
  ];
  test.each(hiding)('make a range incomplete: %s', async (_, change, undo, message) => {
    expect(await complete()).toBe('true');
    await store.database.script(change);
    const [answer, fed] = [await complete(), await fedBlocks()];
    await store.database.script(undo);
    expect(answer).toMatch(message);
    expect(fed).toEqual([{ fed: false, hint: expect.stringMatching(message) as string }]);
    expect([await complete(), await fedBlocks()]).toEqual(['true', [{ fed: true, hint: null }]]);
  });

  test('hide nothing if a policy shows them all, or if no policy binds the role', async () => {
    await store.database.script(
      `alter table ton.blocks enable row level security; create policy everything on ton.blocks for select to ${NAME} using (true)`,
    );
    const shown = await complete();
    await store.database.script(`drop policy everything on ton.blocks; alter role ${NAME} bypassrls`);
    const exempt = await complete();
    await store.database.script(
      `alter role ${NAME} nobypassrls; alter table ton.blocks disable row level security`,
    );
    expect([shown, exempt]).toEqual(['true', 'true']);
  });

  thorough(
    'are named by reader, sql, status and doctor, whichever event trigger enabled row security',
    async () => {
      await store.database.script(`
      create function public.secure() returns event_trigger language plpgsql as $$ declare r record; begin
        for r in select objid from pg_event_trigger_ddl_commands() where object_type = 'table' loop
          execute format('alter table %s enable row level security', r.objid::regclass);
        end loop; end $$;
      create event trigger secure on ddl_command_end when tag in ('CREATE TABLE') execute function public.secure()`);
      await createPartitions(store.database, 'month').ensure([blocks], ['2026-03-05T00:00:00Z']);
      await store.database.script(
        'drop event trigger secure; alter table ton.traces enable row level security',
      );
      const cli = await openCli();
      const run = (...args: string[]) => cli.run(args, { DATABASE_URL: store.url, LOG_FORMAT: 'json' });
      const [made, asked, counted, examined] = [
        await run('reader', '--name', NAME),
        await run('sql', 'select count(*) from traces'),
        await run('status'),
        await run('doctor', '--json'),
      ];
      await cli.close();
      await store.database.script(`
      alter table ton.traces disable row level security;
      alter table etl_partitions.blocks_2026_03_01 disable row level security`);
      expect(made.code).toBe(2);
      expect(made.stderr).toMatch(/hides rows of ton\.traces from reader_/);
      expect(made.stderr).toMatch(/hides rows of 1 of the partitions of ton\.blocks/);
      expect(asked.stderr).toMatch(/hides rows of ton\.traces from toncenter_etl_sql/);
      // A superuser sees all rows.
      expect(counted.stderr).not.toMatch(/hides rows/);
      expect(examined.stdout).toMatch(/ton\.blocks \(1 of its partitions\) has row-level security/);
      expect(examined.stdout).toMatch(/ton\.traces has row-level security/);
    },
  );
});
