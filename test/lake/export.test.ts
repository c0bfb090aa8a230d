import { appendFile, mkdtemp, readdir, readFile, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { columnType } from '../../src/lake/copied-rows.ts';
import { commit, tablesIn, type TableLog } from '../../src/lake/delta-log.ts';
import { openEngine } from '../../src/lake/engine.ts';
import { withLake, directoryStore, openLakeReader } from '../../src/lake/open-lake.ts';
import { DatabaseError, LakeBusyError, messageOf } from '../../src/errors.ts';
import { messages } from '../../src/tables/ton/transactions.ts';
import { targetOf } from '../../src/write/target.ts';
import { openCrawledStore, type CrawledStore } from '../support/database/crawled-store.ts';
import { openCli } from '../support/program/cli.ts';
import { openDuck, type Duck } from '../support/duck.ts';
import { exported, logIn, verified, type Outcome } from '../support/lake.ts';
import { twoDays } from '../support/two-days.ts';
import { thorough } from '../support/thorough.ts';

let store: CrawledStore;
let duck: Duck;
let directory: string;
/** The lake of all tables. */
let lake: string;
let outcome: Outcome;

const ALL = { from: '2026-01-31', to: '2026-02-02' };
/** From before the network began to after its end. */
const COVERED = /^part-20260131T2325\d\dZ-20260201T000000Z-\w{12}\.parquet$/;

beforeAll(async () => {
  store = await openCrawledStore(twoDays);
  duck = await openDuck();
  directory = await mkdtemp(join(tmpdir(), 'toncenter-etl-export-'));
  lake = join(directory, 'lake');
  outcome = await run({ only: ['all'] });
});
afterAll(async () => {
  duck.close();
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

interface Wanted {
  readonly only?: string[];
  readonly out?: string;
  readonly format?: string;
  readonly spreadsheet?: boolean;
  readonly from?: string;
  readonly to?: string;
}

const run = (wanted: Wanted): Promise<Outcome> =>
  exported(store.url, { ...ALL, format: 'parquet', out: lake, ...wanted });

const written = ({ printed }: Omit<Outcome, 'errors'>): string[] =>
  printed.flatMap((line) => /^written (\w+)\//.exec(line)?.[1] ?? []);

const logOf = (table: string, at = lake): Promise<TableLog> => logIn(at, table);

const filesOf = ({ table, parts }: TableLog, at = lake): string =>
  `read_parquet([${parts.map(({ path }) => `'${join(at, table, path)}'`).join(', ')}])`;

/** A checksum over all values of a column, in the SQL of both databases. */
function sums(column: { name: string; type: string }): { duck: string; postgres: string } {
  const name = `"${column.name}"`;
  const both = (text: string) => ({ duck: text, postgres: text });
  const { delta } = columnType(column);
  if (/^(long|integer|decimal.*)$/.test(delta)) return both(`sum(${name})`);
  if (delta === 'boolean') return both(`sum(case when ${name} then 1 else 0 end)`);
  if (delta === 'double') return both(`round(sum(${name}))::bigint`);
  if (delta === 'timestamp')
    return {
      duck: `sum(epoch_us(${name}))`,
      postgres: `sum((extract(epoch from ${name}) * 1000000)::bigint)`,
    };
  return { duck: `sum(strlen(${name}))`, postgres: `sum(octet_length(${name}::text))` };
}

describe('a lake', () => {
  test('has parts by day, named by their seconds, and a log for each table', async () => {
    expect(outcome.code).toBe(0);
    const { parts } = await logOf('transactions');
    expect(parts.map(({ day }) => day)).toEqual(['2026-01-31', '2026-02-01']);
    expect(parts[0]?.path.replace('day=2026-01-31/', '')).toMatch(COVERED);
    expect(parts[0]?.grades).toEqual({ transactions: 'covered' });
    const names = await readdir(lake, { recursive: true });
    expect(names.filter((name) => /partial/.test(name))).toEqual([]);
  });

  test('has the current rows of lists and look-ups that were read, and none of the others', async () => {
    const { parts } = await logOf('jetton_masters');
    const rows = await store.ask('select count(*) as rows from jetton_masters');
    expect(rows).toEqual([{ rows: String(parts[0]?.rows) }]);
    expect(parts).toMatchObject([
      { grades: { jetton_masters: 'as read' }, day: expect.stringMatching(/^20/) as string },
    ]);
    expect(await tablesIn(directoryStore(lake))).not.toContain('dns_records');
  });

  test('DuckDB reads the same rows: every column of every table has the sum that Postgres has', async () => {
    const tables = await tablesIn(directoryStore(lake));
    expect(tables.length).toBeGreaterThan(10);
    for (const name of tables) {
      const log = await logOf(name);
      const types = await store.ask(
        `select column_name as name, data_type as type from information_schema.columns where table_schema = 'ton' and table_name = '${name}' order by ordinal_position`,
      );
      const each = types.map(({ name: column, type }) => ({
        ...sums({ name: column ?? '', type: type ?? '' }),
        name: `"${column ?? ''}"`,
      }));
      const of = (side: 'duck' | 'postgres') =>
        each
          .map((column) => `count(${column.name})::text || ' ' || coalesce((${column[side]})::text, 'none')`)
          .join(', ');
      const within = log.parts
        .map(({ span }) => `utime >= to_timestamp(${span.from}) and utime < to_timestamp(${span.to})`)
        .join(' or ');
      const [mine = {}] = await store.ask(
        `select array_to_json(array[count(*)::text, ${of('postgres')}])::text as all from ${name} where ${log.parts[0]?.keys === null ? 'true' : within}`,
      );
      const [theirs = []] = await duck.rows(`select count(*)::text, ${of('duck')} from ${filesOf(log)}`);
      expect(theirs, name).toEqual(JSON.parse(mine['all'] ?? '') as unknown[]);
    }
  });

  test('types are those that analysts calculate with, values are compressed, ranges can be skipped', async () => {
    const log = await logOf('transactions');
    const rows = await duck.rows(
      `describe select utime, lt, account, total_fees, aborted, extra, compute_exit_code from ${filesOf(log)}`,
    );
    expect(rows.map(([name, type]) => [name, type])).toEqual([
      ['utime', 'TIMESTAMP WITH TIME ZONE'],
      ['lt', 'BIGINT'],
      ['account', 'VARCHAR'],
      ['total_fees', 'DECIMAL(38,0)'],
      ['aborted', 'BOOLEAN'],
      ['extra', 'VARCHAR'],
      ['compute_exit_code', 'INTEGER'],
    ]);
    const [path = ''] = log.parts.map((part) => join(lake, 'transactions', part.path));
    const facts = await duck.rows(
      `select distinct compression, stats_min_value is not null from parquet_metadata('${path}') where path_in_schema in ('utime', 'lt', 'account')`,
    );
    expect(facts).toEqual([['ZSTD', true]]);
  });

  test('is counted again by verify from its parts alone', async () => {
    expect(await verified(lake)).toMatchObject({ code: 0, printed: [] });
  });
});

describe('an export into an existing lake', () => {
  test('writes nothing twice; a changed, lost or new row rewrites only its part', async () => {
    const again = () => run({ only: ['all'] });
    const { printed } = await again();
    expect(written({ code: 0, printed })).toEqual([]);
    expect(printed).toHaveLength(outcome.printed.length);

    await store.ask(
      `update traces set loaded_at = clock_timestamp() where trace_id = (select min(trace_id) from traces where utime >= '2026-02-01Z' and utime < '2026-02-01 00:20Z')`,
    );
    expect(written(await again())).toEqual(['traces']);

    // A commit that began before the newest one, and came after it.
    await store.ask(
      `update traces set loaded_at = loaded_at + interval '1 microsecond' where trace_id = (select trace_id from traces where utime >= '2026-02-01Z' and utime < '2026-02-01 00:20Z' order by loaded_at, trace_id limit 1)`,
    );
    expect(written(await again())).toEqual(['traces']);

    await store.ask(
      `delete from jetton_transfers where (utime, transaction_hash) = (select utime, transaction_hash from jetton_transfers where utime >= '2026-01-31 23:30Z' and utime < '2026-02-01Z' limit 1)`,
    );
    expect(written(await again())).toEqual(['jetton_transfers']);
    expect((await verified(lake)).code).toBe(0);
  });

  test('of a narrower range, or after rows left the database, removes nothing', async () => {
    const before = (await logOf('messages')).parts;
    expect(
      written(await run({ only: ['transactions'], from: '2026-01-31T23:40Z', to: '2026-01-31T23:41Z' })),
    ).toEqual([]);
    await store.ask(`create table kept as select * from messages where utime < '2026-02-01Z'`);
    await store.ask(`create table covered as select * from etl.coverage`);
    await store.ask(`delete from messages where utime < '2026-02-01Z'`);
    await store.ask(
      `update etl.coverage set covered = covered - int8multirange(int8range(0, ${Date.UTC(2026, 1, 1) / 1000}))`,
    );
    expect(written(await run({ only: ['transactions'] }))).toEqual([]);
    expect((await logOf('messages')).parts).toEqual(before);
    const names = [...targetOf(messages).columns, 'loaded_at'].join(', ');
    await store.ask(`insert into messages (${names}) select ${names} from kept`);
    await store.ask(
      `update etl.coverage c set covered = o.covered from covered o where (o.dataset, o.scope, o.pass) = (c.dataset, c.scope, c.pass)`,
    );
  });

  test('adds parts, and merges those that follow each other', async () => {
    const out = join(directory, 'growing');
    const only = ['jetton_transfers'];
    for (const [from, to] of [
      ['2026-01-31T23:30Z', '2026-01-31T23:40Z'],
      ['2026-01-31T23:35Z', '2026-01-31T23:50Z'],
      ['2026-01-31T23:50Z', '2026-02-01T00:10Z'],
    ] as const)
      expect((await run({ only, out, from, to })).code).toBe(0);
    const parts = async () =>
      (await logOf('jetton_transfers', out)).parts.map(({ path }) => path.slice(0, 51));
    expect(await parts()).toEqual(
      [
        'day=2026-01-31/part-20260131T233000Z-20260201T000000',
        'day=2026-02-01/part-20260201T000000Z-20260201T001000',
      ].map((path) => path.slice(0, 51)),
    );
    // As if the hours before the network began had been read.
    await store.ask(
      `update etl.coverage set covered = covered + int8multirange(int8range(${Date.UTC(2026, 0, 31) / 1000}, ${Date.UTC(2026, 1, 1) / 1000})) where dataset = 'jetton_transfers'`,
    );
    expect((await run({ only, out, ...ALL })).code).toBe(0);
    const log = await logOf('jetton_transfers', out);
    expect(log.parts.map(({ day }) => day)).toEqual(['2026-01-31', '2026-02-01']);
    expect(await verified(out)).toMatchObject({ code: 0, printed: [] });
    // Readers that do not read the log see the same rows.
    const [all] = await duck.rows(
      `select count(*)::int from read_parquet('${out}/jetton_transfers/*/*.parquet')`,
    );
    expect(all).toEqual([log.parts.reduce((sum, { rows }) => sum + rows, 0)]);
  });

  test('of another schema has one schema for readers: a column that a part lacks is null', async () => {
    const out = join(directory, 'changed');
    await run({ only: ['jetton_transfers'], out });
    const [first, second] = (await logOf('jetton_transfers', out)).parts;
    const path = join(out, 'jetton_transfers', first?.path ?? '');
    await duck.rewrite(path, `select * exclude (amount), 'old' as retired from this`);
    const engine = await openEngine();
    const ask = await openLakeReader(engine, out);
    const { rows } = await ask('select count(*), count(amount), count(retired) from jetton_transfers');
    await engine.close();
    const [before, after] = [first?.rows ?? 0, second?.rows ?? 0];
    expect(rows).toEqual([[before + after, after, before].map(String)]);
  });

  test('at the same time as another one leaves the lake whole: the slower one reports it', async () => {
    const out = join(directory, 'shared');
    const ends = await Promise.allSettled([1, 2, 3].map(() => run({ only: ['jetton_transfers'], out })));
    for (const end of ends)
      expect(end).toSatisfy(() => end.status === 'fulfilled' || end.reason instanceof LakeBusyError);
    expect(ends.map(({ status }) => status)).toContain('fulfilled');
    expect((await run({ only: ['jetton_transfers'], out })).code).toBe(0);
    expect(await verified(out)).toMatchObject({ code: 0, printed: [] });
    const rows = async (at: string) => (await logOf('jetton_transfers', at)).parts.map((part) => part.rows);
    await run({ only: ['jetton_transfers'] });
    expect(await rows(out)).toEqual(await rows(lake));
  });

  thorough('writes a checkpoint of its commits regularly, and drops those that are not needed', async () => {
    const out = join(directory, 'summed');
    await run({ only: ['jetton_transfers'], out });
    const folder = join(out, 'jetton_transfers', '_delta_log');
    const count = async () =>
      (
        await withLake(out, async ({ engine }) => {
          const ask = await openLakeReader(engine, out);
          return ask(
            `select count(*), count(distinct part), max(grade)
              from jetton_transfers, (select path as part, grades->>'jetton_transfers' as grade from etl.parts)`,
          );
        })
      ).rows;
    const first = await logIn(out, 'jetton_transfers');
    const before = await count();
    expect(before[0]?.[2]).toBe(first.parts[0]?.grades['jetton_transfers']);
    const commits = (times: number) =>
      withLake(out, async (at) => {
        let log = await logIn(out, 'jetton_transfers');
        for (let time = 0; time < times; time += 1)
          log = await commit(at, log, { add: log.parts, remove: [], isNew: false });
      });
    await commits(30);
    const names = async () => (await readdir(folder)).filter((name) => !name.startsWith('_')).sort();
    expect((await names()).filter((name) => name.endsWith('.parquet'))).toHaveLength(1);
    const old = new Date(Date.now() - 2 * 86_400_000);
    for (const name of await names()) await utimes(join(folder, name), old, old);
    await commits(30);
    const left = await names();
    // The last two are recent.
    expect(left.filter((name) => name.endsWith('.parquet'))).toHaveLength(2);
    expect(left.length).toBeLessThan(38);
    const { version, checkpoint, ...facts } = await logIn(out, 'jetton_transfers');
    expect(version).toBe(first.version + 60);
    expect(checkpoint).toBeGreaterThan(40);
    expect(facts).toEqual({
      table: first.table,
      id: first.id,
      network: first.network,
      columns: first.columns,
      parts: first.parts,
      foreign: first.foreign,
    });
    expect(await count()).toEqual(before);
    expect(await verified(out)).toMatchObject({ code: 0, printed: [] });
  });

  thorough('may be killed at any moment: the lake is in its old state or in its new one', async () => {
    const cli = await openCli();
    const out = join(directory, 'killed');
    const range = ['--from', ALL.from, '--to', ALL.to, '--only', 'all', '--out', out];
    const settings = { DATABASE_URL: store.url };
    try {
      let rows = 0;
      const killed: number[] = [];
      for (const seen of [/exports/, /written block/, /written tra/]) {
        const running = cli.start(['export', ...range], settings);
        await Promise.race([running.sees(seen), running.ended]);
        killed.push(running.child.pid ?? 0);
        running.child.kill('SIGKILL');
        await running.ended;
        const tables = await tablesIn(directoryStore(out));
        // The first one is killed before there is a lake.
        if (tables.length > 0) expect((await verified(out)).printed).toEqual([]);
        const logs = await Promise.all(tables.map((name) => logOf(name, out)));
        const now = logs.flatMap(({ parts }) => parts).reduce((sum, part) => sum + part.rows, 0);
        expect(now).toBeGreaterThanOrEqual(rows);
        rows = now;
      }
      expect(await cli.run(['export', ...range], settings)).toMatchObject({ code: 0 });
      const left = (await readdir(tmpdir())).filter((name) => name.startsWith('toncenter-etl-lake-'));
      for (const pid of killed) expect(left.filter((name) => name.includes(`-${pid}-`))).toEqual([]);
    } finally {
      await cli.close();
    }
    expect((await verified(out)).code).toBe(0);
    for (const name of await tablesIn(directoryStore(lake))) {
      const [mine, theirs] = [await logOf(name, out), await logOf(name)];
      const facts = ({ parts }: TableLog) => parts.map(({ rows, keys }) => ({ rows, keys }));
      expect(facts(mine), name).toEqual(facts(theirs));
    }
  });
});

describe('verify --lake finds', () => {
  const out = () => join(directory, 'spoiled');
  const only = ['jetton_transfers'];

  test.each([
    ['a part that is gone', /is missing/, (path: string) => rm(path)],
    ['bytes that were added', /has \d+ bytes, not/, (path: string) => appendFile(path, 'x')],
    [
      'a row that is gone',
      /has \d+ bytes, not|holds \d+ rows, not/,
      (path: string) => duck.rewrite(path, `select * from this limit (select count(*) - 1 from this)`),
    ],
    [
      'a value that was altered',
      /has \d+ bytes, not|SHA-256/,
      (path: string) => duck.rewrite(path, `select * replace (amount + 1 as amount) from this`),
    ],
  ])('%s', async (_, what, spoil) => {
    await rm(out(), { recursive: true, force: true });
    await run({ only, out: out() });
    const [part] = (await logOf('jetton_transfers', out())).parts;
    await spoil(join(out(), 'jetton_transfers', part?.path ?? ''));
    const { code, printed } = await verified(out());
    expect(code).toBe(3);
    expect(printed).toEqual([expect.stringMatching(what)]);
  });
});

test('a statement that fails ends like one of Postgres, exit 1', async () => {
  await withLake(lake, async ({ engine }) => {
    const ask = await openLakeReader(engine, lake);
    const error = await ask('select nothing from blocks').catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(DatabaseError);
    expect(error).toHaveProperty('exitCode', 1);
    expect(messageOf(error)).toContain('"nothing" not found');
  });
});

test('a rewritten file is read again', async () => {
  const engine = await openEngine();
  const file = join(directory, 'rewritten.parquet');
  const read: string[] = [];
  for (const text of ['first', 'other']) {
    await engine.ask(`copy (select '${text}' as text from range(10)) to '${file}' (format parquet)`);
    read.push(...new Set(await engine.texts(file, 'text')));
  }
  await engine.close();
  expect(read).toEqual(['first', 'other']);
});

describe('export to csv', () => {
  test('keeps every digit, and tells null from the empty string', async () => {
    const out = join(directory, 'csv');
    const from = '2026-02-01';
    const { code, printed } = await run({
      only: ['jetton_transfers'],
      format: 'csv',
      out,
      from,
      to: '2026-02-01T00:20Z',
    });
    expect({ code, printed }).toEqual({
      code: 0,
      printed: [expect.stringMatching(/^written jetton_transfers.csv: \d+ rows, covered$/)],
    });
    const theirs = await duck.rows(
      `select count(*)::text, sum(amount::hugeint)::text, count(custom_payload)::text, min(utime)
       from read_csv('${join(out, 'jetton_transfers.csv')}', header = true, all_varchar = true)`,
    );
    const [mine = {}] = await store.ask(
      `select count(*), sum(amount), count(custom_payload) as payloads, (min(utime) at time zone 'UTC')::text || '+00' as first
       from jetton_transfers where utime >= '2026-02-01Z' and utime < '2026-02-01 00:20Z'`,
    );
    expect(theirs).toEqual([Object.values(mine)]);
    await expect(run({ only: ['blocks'], format: 'xml', out })).rejects.toThrow(/parquet or csv/);
  });

  test('for a spreadsheet has all rows, no formula, and no number that loses digits', async () => {
    const out = join(directory, 'sheets');
    const wanted = { only: ['transactions'], from: '2026-02-01', to: '2026-02-01T00:20Z', out };
    await run({ ...wanted, format: 'csv', spreadsheet: true });
    const text = await readFile(join(out, 'transactions.csv'), 'utf8');
    expect(text.startsWith('\uFEFFutime,lt,account,hash,')).toBe(true);
    const rows = await duck.rows(
      `select count(*)::text, count(*) filter (hash similar to '[-+=@].*')::text, min(aborted), min(utime)
       from read_csv('${join(out, 'transactions.csv')}', header = true, all_varchar = true)`,
    );
    const [stored] = await store.ask(
      `select count(*) as rows from transactions where utime >= '2026-02-01Z' and utime < '2026-02-01 00:20Z'`,
    );
    expect(rows).toEqual([
      [stored?.['rows'], '0', 'false', expect.stringMatching(/^2026-02-01 00:\d\d:\d\d$/)],
    ]);
    await expect(run({ ...wanted, format: 'parquet', spreadsheet: true })).rejects.toThrow(/give both/);
  });
});

describe('export to a disk that becomes full', () => {
  // The system then writes a part of the data, and says nothing before the next write.
  test.each([['csv'], ['csv', '--spreadsheet'], ['parquet']])(
    'as %s says so, and writes nothing that is cut',
    async (...format) => {
      const cli = await openCli();
      const out = join(directory, `full-${format.join('')}`);
      const range = ['--from', '2026-02-01', '--to', '2026-02-01T00:20Z', '--only', 'transactions'];
      const to = ['export', ...range, '--out', out, '--format', ...format];
      // Blocks of 512 bytes: fewer than the rows of the range take.
      const { code, stderr } = await cli.runWithin('-f 100', to, { DATABASE_URL: store.url });
      await cli.close();
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringMatching(/cannot be written: EFBIG/) as unknown,
      });
      expect(stderr).not.toContain('    at ');
      const files = await readdir(out, { recursive: true }).catch(() => []);
      expect(files.filter((name) => /[.](csv|json|parquet)$/.test(name))).toEqual([]);
    },
  );
});
