import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { compile } from '../support/program/compile.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';

/** Its end is not waited for by anybody. */
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
  /** Megabytes that were resident at most. */
  readonly memory: number;
}

/** Runs what a shell makes of a command, in which `$SQL` is the program's `sql`. */
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
    memory = Math.max(memory, residentMost(child.pid ?? 0));
    await delay(20);
  }
  const [exit, stdout, stderr] = await output;
  return { code: exit, stdout, stderr, memory };
}

function residentMost(pid: number): number {
  const status = `/proc/${pid}/status`;
  if (!existsSync(status)) return 0;
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(status, 'utf8'))?.[1] ?? 0) / 1024;
}

describe.each(['--csv', '--json'])('sql %s', (format) => {
  test('ends as soon as its reader has seen enough, however much there is', async () => {
    const { code, stdout, stderr } = await shell(`$SQL ${format} "${ENDLESS}" | head -2`);
    expect(stdout).toBe(format === '--csv' ? 'n\n1\n' : '[\n{"n":"1"},\n');
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  test('says how many rows it has written', async () => {
    const none = await shell(`$SQL ${format} "select 1 as n where false"`);
    expect(none.stdout).toBe(format === '--csv' ? 'n\n' : '[]\n');
    expect(none.stderr).toBe('(0 rows)\n');
    const two = await shell(`$SQL ${format} "values (1), (null)"`);
    expect(two.stdout).toBe(
      format === '--csv' ? 'column1\n1\n\n' : '[\n{"column1":"1"},\n{"column1":null}\n]\n',
    );
    expect(two.stderr).toBe('(2 rows)\n');
  });

  test('ends with a failure in the middle, and what it wrote does not look whole', async () => {
    const { code, stdout, stderr } = await shell(
      `$SQL ${format} "select 1 / (3 - n) as n from generate_series(1, 5) n"`,
    );
    expect(stderr).toContain('division by zero');
    expect(stdout).not.toContain(']');
    expect(code).toBe(1);
  });

  test('leaves a statement that returns nothing to its tag', async () => {
    const { stdout, stderr } = await shell(`$SQL ${format} --write "create temporary table gone (n int)"`);
    expect([stdout, stderr]).toEqual(['', 'CREATE\n']);
  });
});

test.skipIf(process.platform !== 'linux')(
  'rows that are written as they come take no memory, also where nobody is in a hurry to read them',
  async () => {
    const large = await shell(`exec $SQL --csv "${LARGE}" > /dev/null`);
    expect(large.stderr).toBe(`(${LARGE_ROWS} rows)\n`);
    expect(large.memory).toBeGreaterThan(20);
    expect(large.memory).toBeLessThan(200);
    const slow = await shell(`$SQL --csv "${LARGE}" | (sleep 2; wc -l)`);
    expect(Number(slow.stdout)).toBe(LARGE_ROWS + 1);
  },
);
