import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prompt } from '../../src/commands/prompt.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import type { TransactionJson } from '../../src/simulator/json/transaction-json.ts';
import { openCli, type Cli, type CliResult } from '../support/program/cli.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { some } from '../support/thorough.ts';

const START = Date.UTC(2026, 4, 1) / 1000;
/** Read by the one backfill of this file. */
const READ = { from: START, to: START + 300 };

let cli: Cli;
let store: TestStore;
let simulator: Simulator;
let all: TransactionJson[];
/** A record in the range that was read, served with an invalid lt. */
let misfit: TransactionJson;

beforeAll(async () => {
  store = await openTestStore();
  simulator = await startSimulator({
    start: START,
    // The network is so long that the range is final, and next to nothing happens after it.
    duration: 8 * 3600,
    load: { base: 1, dead: [{ from: START + 900, to: START + 8 * 3600 }] },
    accounts: 100,
    after: ({ path }, response) => {
      if (path !== '/api/v3/transactions') return response;
      const body = response.body
        .toString()
        .replace(`"hash":"${misfit.hash}","lt":"`, `"hash":"${misfit.hash}","lt":"about `);
      return { ...response, body };
    },
  });
  all = [...simulator.truth.transactions({ from: START, to: START + 600 })];
  misfit = all[20] ?? never();
  cli = await openCli();
  const range = ['--from', String(READ.from), '--to', String(READ.to), '--only', 'transactions'];
  const { code, stderr } = await cli.ask(['backfill', ...range], settings());
  // On a busy machine it lasts until the first line of progress.
  const [line, ...others] = stderr.split('\n').filter((one) => !one.includes('"event":"progress"'));
  expect(line).toMatch(/^\{.*"found":1,.*"msg":"records do not fit the schema and go to quarantine"\}$/);
  expect(others).toEqual(['']);
  expect(code).toBe(0);
});
afterAll(async () => {
  await cli.close();
  await simulator.close();
  await store.close();
});

function never(): never {
  throw new Error('the network is smaller than this test expects');
}

function settings(more: Record<string, string> = {}): Record<string, string> {
  return {
    DATABASE_URL: store.url,
    TONCENTER_NETWORK: simulator.url,
    TONCENTER_RPS: '100',
    ETL_ATTEMPTS: '1',
    ...more,
  };
}

const ask = (...args: string[]): Promise<CliResult> => cli.ask(args, settings());
const at = (utime: number): string => new Date(utime * 1000).toISOString().replace('.000Z', 'Z');

describe('sql', () => {
  test.concurrent('prints aligned columns, null as empty, and the number of rows beside them', async () => {
    const { code, stdout, stderr } = await ask(
      'sql',
      `select 'a' as word, 10 as n, null as nothing union all select 'bcd', 9, 'x'`,
    );
    expect(stdout).toBe('word   n  nothing\na     10\nbcd    9  x\n');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '(2 rows)\n' });
  });

  test.concurrent('shows where a statement goes wrong, and the nearest name', async () => {
    const { code, stderr } = await ask('sql', 'select count(*)\nfrom transaction');
    expect(code).toBe(1);
    expect(stderr).toBe(
      'error: the database refused: relation "transaction" does not exist (42P01)\nLINE 2: from transaction\n             ^\nhint: Did you mean transactions?\n',
    );
  });

  test.concurrent.each(
    some(
      [
        ['select fees from transactions', 'Did you mean total_fees?'],
        ['select t.fees from transactions t, daily_activity', 'Did you mean total_fees?'],
        ['select nano_to_tons(1)', 'Did you mean nano_to_ton?'],
        [`select ton_address(1, 'a')`, 'No function matches the given name and argument types.'],
        ['select * from public.transactions', 'Did you mean transactions?'],
      ] as const,
      3,
    ),
  )('names what %s may have meant', async (statement, hint) => {
    const { code, stderr } = await ask('sql', statement);
    expect(stderr).toContain(`\nhint: ${hint}`);
    expect(code).toBe(1);
  });

  test.concurrent('runs no program of the machine, even if the setting names a superuser', async () => {
    const { code, stdout, stderr } = await cli.run(
      ['sql', "copy (select 1) to program 'cat'"],
      settings({ DATABASE_URL: `${store.url}?target_session_attrs=read-write` }),
    );
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/permission denied|must be/);
  });

  test.concurrent('finds the tables without their schema and prints times in UTC', async () => {
    const { stdout } = await ask(
      'sql',
      'select min(utime) as first, count(*) as rows from transactions',
      '--json',
    );
    const [row] = JSON.parse(stdout) as { first: string; rows: string }[];
    expect(row?.first).toMatch(/^2026-05-01 00:00:\d\d\+00$/);
    const read = all.filter(({ now }) => now < READ.to);
    expect(row?.rows).toBe(String(read.length - 1));
  });

  test.concurrent('--csv quotes what needs it and tells null from the empty string', async () => {
    const { stdout } = await ask('sql', `select 'a "b", c' as x, '' as y, null as z`, '--csv');
    expect(stdout).toBe('x,y,z\n"a ""b"", c","",\n');
  });

  test.concurrent('--json loses no digit', async () => {
    const { stdout } = await ask(
      'sql',
      `select 9223372036854775807 as big, 0.10 as dime, true as yes, null as no`,
      '--json',
    );
    expect(stdout).toBe('[\n{"big":"9223372036854775807","dime":"0.10","yes":"t","no":null}\n]\n');
  });

  // What Postgres reports of a value, or of memory, would come again with the same statement.
  test.concurrent.each(
    some(
      [
        ['22003', 'select 2147483640 + g from generate_series(0, 10) g'],
        ['22012', 'select utime, 1 / (lt - lt) from transactions limit 1'],
        ['22008', `select date '2026-01-01' + 2147483647`],
        ['22P02', `select ('x' || g)::int from generate_series(1, 3) g`],
        ['54000', `select repeat('x', 2000000000)`],
        ['XX000', `select repeat('x', 600000000) || repeat('x', 600000000)`],
      ] as const,
      2,
    ),
  )('is not told to retry an error of the statement itself: %s', async (state, statement) => {
    const { code, stderr } = await cli.run(['sql', '--csv', statement], settings());
    expect([code, stderr]).toEqual([1, expect.stringContaining(`(${state})`)]);
    expect(stderr).not.toContain('log');
  });

  test.concurrent('runs the statements of a pipe one after the other', async () => {
    const { stdout } = await cli.run(['sql', '--csv'], settings(), "select ';' as a; -- ;\nselect 2 as b");
    expect(stdout).toBe('a\n;\nb\n2\n');
  });

  test.concurrent('runs backslash commands from a pipe', async () => {
    const piped = (text: string) => cli.run(['sql'], settings(), text);
    const { code, stdout } = await piped(
      "\\d traces\n\\x\nselect 1 as one, '\n\\d' as two;\n\\q\nselect 2 as three;",
    );
    expect(stdout).toMatch(/^column +type +meaning\nutime +timestamp with time zone +\S/);
    expect(stdout).toMatch(/\n-- 1 ---\none  1\ntwo  \\n\\d\n$/);
    expect(code).toBe(0);
    expect(await piped('\\d trace')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: the database refused: relation "trace" does not exist (42P01)\nhint: Did you mean traces?\n',
    });
    const kinds = async (command: string) => {
      const listed = await piped(command);
      const lines = listed.stdout
        .split('\n')
        .map((line) => /^\S+(?: \S+)* {2,}(table|view|function) /.exec(line)?.[1]);
      return [...new Set(lines.filter((kind) => kind !== undefined))];
    };
    expect(await kinds('\\d')).toEqual(['table', 'view', 'function']);
    expect(await kinds('\\dt')).toEqual(['table', 'view']);
    expect(await kinds('\\dv')).toEqual(['view']);
    expect(await kinds('\\df')).toEqual(['function']);
    const unknown = await piped('\\copy blocks');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toMatch(/^error: unknown command \\copy blocks\nhint: .*\n\\d /);
  });

  test.concurrent(
    'names the datasets that feed a table, a view or a function whose description was asked for',
    async () => {
      const described = (name: string) => cli.run(['datasets', name], settings());
      const [view, table] = await Promise.all(['dex_volume', 'block_parents'].map(described));
      expect([view!.code, table!.code]).toEqual([2, 2]);
      expect((await described('trace_tree')).stderr).toMatch(
        /^error: "trace_tree" is no dataset: it is fed by traces, /m,
      );
      expect(view!.stderr).toMatch(/^error: "dex_volume" is no dataset: it is fed by actions/m);
      expect(view!.stderr).toMatch(/^hint: Run: .*toncenter-etl datasets actions$/m);
      expect(table!.stderr).toMatch(/^error: "block_parents" is no dataset: it is fed by blocks, /m);
      expect(table!.stderr).toMatch(/^hint: Run: .*toncenter-etl datasets blocks$/m);
      // Neither a dataset, nor in the database, nor the name of anything.
      const unknown = await Promise.all(['bloks', "x' or true --"].map(described));
      for (const { code, stderr } of unknown) {
        expect(code).toBe(2);
        expect(stderr).toMatch(/^error: there is no dataset .*\nhint: Datasets are account_states, /m);
      }
    },
  );

  test.concurrent('refuses to write without --write', async () => {
    const name = 'about';
    const { code, stdout, stderr } = await ask('sql', `insert into etl.watch (address) values ('${name}')`);
    expect(stderr).toContain('cannot execute INSERT in a read-only transaction');
    expect(stderr).toMatch(/hint: .*add --write/);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    const written = await ask('sql', '--write', `insert into etl.watch (address) values ('${name}')`);
    expect(written).toEqual({ code: 0, stdout: '', stderr: 'INSERT 1\n' });
  });

  test.concurrent.each(
    some(
      [
        'commit; delete from ton.transactions',
        'set transaction read write; delete from ton.transactions',
        'commit and chain; set session characteristics as transaction read write; delete from ton.transactions',
      ] as const,
      1,
    ),
  )('cannot be tricked into writing: %s', async (statements) => {
    const before = await ask('sql', 'select count(*) from transactions', '--csv');
    const { code } = await ask('sql', statements);
    expect(code).not.toBe(0);
    expect(await ask('sql', 'select count(*) from transactions', '--csv')).toEqual(before);
  });

  test.concurrent("repeats Postgres' message for a mistake, exit 1", async () => {
    const { code, stderr } = await ask('sql', 'select * from transaction');
    expect(stderr).toContain('relation "transaction" does not exist');
    expect(code).toBe(1);
  });

  test('prints where the database is, and nothing else, to stdout', async () => {
    const { code, stdout, stderr } = await ask('sql', '--url');
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${store.url}\n` });
    expect(stderr).toContain('password');
  });

  test('the prompt runs statements over several lines and ends with \\q', async () => {
    const [input, output] = [new PassThrough(), new PassThrough()];
    const ran: string[] = [];
    const ended = prompt({
      input,
      output,
      run: (statement) => {
        ran.push(statement);
        return Promise.resolve();
      },
    });
    input.end("select 1; select\n 2\n;\n\\d blocks\nselect '\n\\d';\n\\q\nselect 3;\n");
    await ended;
    output.end();
    expect(ran).toEqual(['select 1', 'select\n 2', '\\d blocks', "select '\n\\d'"]);
    expect(await text(output)).toContain('sql> ');
  });
});

describe('why', () => {
  const stored = () => all.find(({ now, hash }) => now < READ.to && hash !== misfit.hash) ?? never();

  test.concurrent('prints what is stored, by which request and when', async () => {
    const { hash, account, now } = stored();
    const { code, stdout } = await ask('why', `0x${Buffer.from(hash, 'base64').toString('hex')}`);
    expect(stdout).toContain(`hash        ${hash}`);
    expect(stdout).toContain(`stored      transactions.hash at ${at(now)}: `);
    expect(stdout).toContain(`account ${account}`);
    expect(stdout).toMatch(
      /written by +page \d+ of transactions, committed 20\S+Z by \S+: GET \/api\/v3\/transactions\?\S*start_utime=/,
    );
    expect(stdout).toContain(`toncenter-etl sql "select * from transactions where hash = '${hash}'"`);
    expect(code).toBe(0);
  });

  test.concurrent('knows messages, and hashes in base64url, too', async () => {
    const { in_msg: message } = all.find(({ in_msg, now }) => in_msg !== null && now < READ.to) ?? never();
    const hash = message?.hash ?? never();
    const { code, stdout } = await ask('why', Buffer.from(hash, 'base64').toString('base64url'));
    expect(stdout).toContain('stored      messages.hash at ');
    expect(stdout).toContain('of transactions, committed');
    expect(code).toBe(0);
  });

  test.concurrent('prints what is in quarantine, why, and how to see it', async () => {
    const { code, stdout } = await ask('why', misfit.hash);
    expect(stdout).toMatch(new RegExp(`quarantine +record \\d+ of transactions at ${at(misfit.now)}: lt: `));
    expect(stdout).toMatch(/since +20\S+Z, received 1 time/);
    const [, id] = /see it +.*toncenter-etl quarantine show (\d+)/.exec(stdout) ?? [];
    expect((await ask('quarantine', 'show', id ?? '')).stdout).toContain('"lt":"about ');
    expect(code).toBe(3);
  });

  test.concurrent('says that a second was never read, if a time is given', async () => {
    const hash = Buffer.alloc(32, 7).toString('hex');
    const before = simulator.stats.total;
    const { code, stdout } = await ask('why', hash, '--at', '2026-05-02T10:00Z');
    expect(stdout).toMatch(/absent +no row has it in .*messages\.hash/);
    expect(stdout).toContain('not read    transactions has never covered 2026-05-02T10:00:00Z');
    expect(stdout).toContain(
      'toncenter-etl backfill --from 2026-05-02T10:00:00Z --to 2026-05-02T10:00:01Z --only transactions',
    );
    expect(code).toBe(3);
    expect(simulator.stats.total - before).toBeLessThan(100);
  });

  test.concurrent.each([
    ['transaction', (late: TransactionJson) => late.hash],
    ['message', (late: TransactionJson) => late.in_msg?.hash ?? never()],
  ])('asks the API when a %s was that the database does not have', async (kind, hashOf) => {
    const late =
      all.find(({ now, in_msg }) => now > READ.to + 60 && in_msg !== null && in_msg.source === null) ??
      never();
    const { code, stdout } = await ask('why', hashOf(late));
    expect(stdout).toContain('asked       GET /api/v3/transactions?hash=');
    expect(stdout).toContain(`the API     knows it as a ${kind} of ${at(late.now)}`);
    expect(stdout).toContain(`not read    transactions has never covered ${at(late.now)}`);
    expect(code).toBe(3);
  });

  test('says that a row is missing in a covered second, and the command that it prints reads it', async () => {
    const { hash, now } = all.findLast((each) => each.now < READ.to - 30) ?? never();
    await store.database.run(sql`delete from ton.transactions where hash = ${hash}`);
    const { code, stdout } = await ask('why', hash);
    expect(stdout).toContain(`a hole      transactions covers ${at(now)}`);
    expect(code).toBe(3);
    const [, repair = ''] = /toncenter-etl (verify .*--repair)/.exec(stdout) ?? [];
    await ask(...repair.split(' '));
    expect((await ask('why', hash)).code).toBe(0);
    const minute = { from: now - (now % 60), to: now - (now % 60) + 60 };
    const range = ['--from', String(minute.from), '--to', String(minute.to)];
    const verified = await ask('verify', ...range, '--only', 'transactions');
    const found = [...verified.stdout.matchAll(/^transactions \S+: \d+ (\w+)/gm)].map(([, kind]) => kind);
    // Their blocks were not read. The seal is broken, and the rows are right again.
    expect(found, verified.stdout).toEqual(['no_proved_blocks']);
  });

  test.concurrent('says that neither the database nor the API knows it', async () => {
    const { code, stdout } = await ask('why', Buffer.alloc(32, 9).toString('hex'));
    expect(stdout).toContain('unknown     the API does not know it either');
    expect(code).toBe(3);
  });

  test.concurrent('says that the API could not be asked', async () => {
    const hash = Buffer.alloc(32, 9).toString('hex');
    const { code, stdout } = await cli.ask(
      ['why', hash],
      settings({ TONCENTER_NETWORK: 'http://127.0.0.1:1' }),
    );
    expect(stdout).toContain('unknown     the API could not answer: GET /api/v3/transactions');
    expect(stdout).toContain('--at TIME');
    expect(code).toBe(3);
  });
});

describe('datasets', () => {
  test.concurrent('lists what can be crawled, without a database', async () => {
    const { code, stdout } = await cli.ask(['datasets'], { DATABASE_URL: 'postgres://127.0.0.1:1/x' });
    expect(stdout).toMatch(
      /transactions +yes +24.0 +transactions, messages +GET \/api\/v3\/transactions +\S/,
    );
    expect(code).toBe(0);
  });

  test.concurrent(
    'describes one: endpoint, parameters, page, cost, and every column with its meaning',
    async () => {
      const { stdout } = await cli.ask(['datasets', 'transactions']);
      expect(stdout).toContain('endpoint  GET /api/v3/transactions');
      expect(stdout).toMatch(/params +x_no_address_book=true.* sort=asc limit=1000/);
      expect(stdout).toContain('one request for each 1000 records');
      expect(stdout).toMatch(/\nutime +timestamp with time zone not null +Block time, UTC/);
      expect(stdout).toContain('messages: Messages between accounts');
    },
  );

  test.concurrent('--json is for programs', async () => {
    const { stdout } = await cli.ask(['datasets', 'blocks', '--json']);
    const described = JSON.parse(stdout) as { name: string; pageSize: number; tables: { name: string }[] };
    expect(described).toMatchObject({ name: 'blocks', pageSize: 1000 });
    expect(described.tables.map(({ name }) => name)).toEqual(['blocks', 'block_parents']);
  });
});

describe('simulate', () => {
  test('serves what was requested until it is stopped', async () => {
    const running = cli.start(
      'simulate --seed 5 --from 2026-03-01 --hours 0.1 --tx-per-second 2 --build 1.2 --key mine --latency 0-5'
        .split(' ')
        .concat(['--rate-limit', 'fixed-window:50', '--fault', 'timeoutAboveLimit=500', 'stale=0']),
    );
    const url = await running.sees(/TONCENTER_NETWORK=(\S+)/);
    const get = (path: string, key = 'mine') =>
      fetch(`${url}/api/v3/${path}`, { headers: { 'x-api-key': key } });
    const info = await get('masterchainInfo');
    expect(info.headers.get('x-api-version')).toMatch(/^1\.2/);
    expect(await info.json()).toMatchObject({ first: { gen_utime: '1772323200' } });
    expect((await get('masterchainInfo', 'yours')).status).toBe(401);
    expect((await get('transactions?limit=501')).status).toBe(500);
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 0, stderr: '' });
  });

  test('says that its port is in use', async () => {
    const { code, stderr } = await cli.run(['simulate', '--port', String(simulator.port), '--hours', '0.1']);
    expect(stderr).toContain(`port ${simulator.port} is in use`);
    expect(code).toBe(2);
  });
});

test('--help of every command shows examples, and fits 80 columns', async () => {
  const { stdout } = await cli.run(['--help']);
  const listed = stdout.slice(stdout.indexOf('Commands:'), stdout.indexOf('Settings'));
  const commands = [...listed.matchAll(/^ {2}([a-z]+) /gm)]
    .map(([, name]) => name ?? '')
    .filter((name) => name !== 'help');
  expect(commands).toContain('backfill');
  const tooLong = (text: string) => text.split('\n').filter((line) => line.length > 80);
  // The path of the page may be longer than a line.
  expect(tooLong(stdout.replace(/^Docs: .*$/m, ''))).toEqual([]);
  const helps = await Promise.all(commands.map((name) => cli.ask([name, '--help'])));
  for (const [index, help] of helps.entries()) {
    expect(help.stdout).toContain(`Examples:\n`);
    expect(help.stdout).toContain(`toncenter-etl ${commands[index] ?? ''}`);
    expect(tooLong(help.stdout)).toEqual([]);
    expect(help.code).toBe(0);
  }
});
