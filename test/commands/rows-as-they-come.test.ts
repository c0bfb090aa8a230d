import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile } from '../support/program/compile.ts';
import { residentMemory } from '../support/resident-memory.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { isThorough, some } from '../support/thorough.ts';

/** No test waits for its end. */
const ENDLESS = 'select generate_series(1, 1000000000000) as n';
/** 200 MB as CSV. */
const LARGE = `select generate_series(1, 2000000) as n, repeat('x', 90) as x`;
const LARGE_ROWS = 2_000_000;

let program: string;
let store: TestStore;
beforeAll(async () => {
  [program, store] = await Promise.all([compile(), openTestStore()]);
});
afterAll(() => store.close());

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The peak of resident memory, in megabytes. */
  readonly memory: number;
}

/** Runs a command in a shell; `$SQL` is the program's `sql`. */
async function shell(command: string): Promise<Ended> {
  const SQL = `${process.execPath} ${join(program, 'src', 'cli.js')} sql`;
  const child = spawn('bash', ['-c', `set -o pipefail; ${command}`], {
    env: { PATH: process.env['PATH'], SQL, DATABASE_URL: store.url, LOG_LEVEL: 'warn' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let memory = 0;
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const output = Promise.all([code, text(child.stdout), text(child.stderr)]);
  while (child.exitCode === null && child.signalCode === null) {
    memory = Math.max(memory, residentMemory(child.pid ?? 0)?.mostMb ?? 0);
    await delay(20);
  }
  const [exit, stdout, stderr] = await output;
  return { code: exit, stdout, stderr, memory };
}

describe.each(some(['--csv', '--json'], 1))('sql %s', (format) => {
  test('ends as soon as its reader has seen enough, however many rows there are', async () => {
    const { code, stdout, stderr } = await shell(`$SQL ${format} "${ENDLESS}" | head -2`);
    expect(stdout).toBe(format === '--csv' ? 'n\n1\n' : '[\n{"n":"1"},\n');
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  test('prints how many rows it has written', async () => {
    const none = await shell(`$SQL ${format} "select 1 as n where false"`);
    expect(none.stdout).toBe(format === '--csv' ? 'n\n' : '[]\n');
    expect(none.stderr).toBe('(0 rows)\n');
    const two = await shell(`$SQL ${format} "values (1), (null)"`);
    expect(two.stdout).toBe(
      format === '--csv' ? 'column1\n1\n\n' : '[\n{"column1":"1"},\n{"column1":null}\n]\n',
    );
    expect(two.stderr).toBe('(2 rows)\n');
  });

  test('ends with a failure in the middle, and its output does not look complete', async () => {
    const { code, stdout, stderr } = await shell(
      `$SQL ${format} "select 1 / (3 - n) as n from generate_series(1, 5) n"`,
    );
    expect(stderr).toContain('division by zero');
    expect(stdout).not.toContain(']');
    expect(code).toBe(1);
  });

  test.each(['| true', '| head -c 1'])('is no failure if its only rows go %s', async (reader) => {
    const { code, stderr } = await shell(`$SQL ${format} "select 1 as n" ${reader}`);
    expect(stderr).toBe('(1 row)\n');
    expect(code).toBe(0);
  });

  test('does not begin another statement for a reader that has left, or ends it at once', async () => {
    const { code, stderr } = await shell(`$SQL ${format} "select 1 as n; ${ENDLESS}" | true`);
    expect(stderr).toBe('(1 row)\n');
    expect(code).toBe(0);
  });

  test('says in a sentence that its disk is full', async () => {
    const { code, stderr } = await shell(`$SQL ${format} "${ENDLESS}" > /dev/full`);
    expect(stderr).toMatch(/^error: the results cannot be written: ENOSPC.*\nhint: .*\n$/);
    expect(code).toBe(1);
    const small = await shell(`$SQL ${format} "select 1 as n" > /dev/full`);
    expect(small.stderr).toMatch(/^(\(1 row\)\n)?error: .*\nhint: .*\n(\(1 row\)\n)?$/);
    expect(small.code).toBe(1);
  });

  test('writes rows that are far larger than the buffer, to a slow reader and to one that leaves', async () => {
    const names = Array.from({ length: 600 }, (_, index) => `null as ${'n'.repeat(50)}${index}`);
    const wide = `select ${names.join(', ')} from generate_series(1, 400)`;
    const slow = await shell(`$SQL ${format} "${wide}" | (sleep 1; wc -l)`);
    expect(Number(slow.stdout)).toBe(format === '--csv' ? 401 : 402);
    expect(slow.stderr).toBe('(400 rows)\n');
    const left = await shell(`$SQL ${format} "${wide}" | head -c 10`);
    expect(left.code).toBe(0);
    expect(left.stderr).not.toMatch(/Warning|\n +at /);
  });

  test('completes what --write changes, even if its reader leaves', async () => {
    const make = 'create table public.many as select g as n from generate_series(1, 50000) g';
    expect((await shell(`$SQL --write "${make}"`)).code).toBe(0);
    const update = await shell(`$SQL ${format} --write "update many set n = -n returning n" | head -1`);
    expect([update.code, update.stderr]).toEqual([0, '(50000 rows)\n']);
    const changed = await shell(`$SQL --write --csv "select count(*) from many where n < 0" | tail -1`);
    expect(changed.stdout).toBe('50000\n');
    await shell(`$SQL --write "drop table public.many"`);
  });

  test('prints only the tag of a statement that returns nothing', async () => {
    const { stdout, stderr } = await shell(`$SQL ${format} --write "create temporary table gone (n int)"`);
    expect([stdout, stderr]).toEqual(['', 'CREATE\n']);
  });
});

test.each([
  ['select 1 as a, 2 as a', 'a'],
  ['select * from (values (1)) one (n), (values (2)) two (n)', 'n'],
  ['select 1, 2', '?column?'],
])('sql --json does not drop one of two columns of a name: %s', async (statement, name) => {
  const { code, stdout, stderr } = await shell(`$SQL --json "${statement}"`);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain(`two columns are named "${name}"`);
});

test('sql --csv --spreadsheet writes what a spreadsheet does not change', async () => {
  const values = `true as is, 't' as word, '+a/b=' as "=hash", 12345678901234567 as lt, -5 as n, timestamptz '2026-01-01 00:00:31+00' as at, null as none`;
  const { code, stdout } = await shell(`$SQL --csv --spreadsheet "select ${values.replaceAll('"', '\\"')}"`);
  expect(stdout).toBe(
    "is,word,'=hash,lt,n,at,none\ntrue,t,'+a/b=,'12345678901234567,-5,2026-01-01 00:00:31,\n",
  );
  expect(code).toBe(0);
  // A reader of UTF-8 text does not see the byte-order mark.
  const { stdout: mark } = await shell(`$SQL --csv --spreadsheet "select 1" | head -c 3 | od -An -tx1`);
  expect(mark.trim()).toBe('ef bb bf');
  expect((await shell(`$SQL --spreadsheet "select 1"`)).code).toBe(2);
});

test.runIf(isThorough && process.platform === 'linux')(
  'rows that are streamed take no memory, even if their reader is slow',
  async () => {
    const large = await shell(`exec $SQL --csv "${LARGE}" > /dev/null`);
    expect(large.stderr).toBe(`(${LARGE_ROWS} rows)\n`);
    expect(large.memory).toBeGreaterThan(20);
    expect(large.memory).toBeLessThan(200);
    const slow = await shell(`$SQL --csv "${LARGE}" | (sleep 2; wc -l)`);
    expect(Number(slow.stdout)).toBe(LARGE_ROWS + 1);
  },
);
