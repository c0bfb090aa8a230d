import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openCrawledStore } from '../support/database/crawled-store.ts';
import { openTestStore, type TestStore } from '../support/database/database.ts';
import { query } from '../support/database/query.ts';
import { exported } from '../support/lake.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { compile } from '../support/program/compile.ts';
import { openScreen, type Screen } from '../support/program/screen.ts';
import { twoDays } from '../support/two-days.ts';

let program: string;
let store: TestStore;
let cli: Cli;
beforeAll(async () => {
  [program, store, cli] = await Promise.all([compile(), openTestStore(), openCli()]);
});
afterAll(async () => {
  await cli.close();
  await store.close();
});

/** Waits for a condition, with a limit. */
async function until(holds: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(what());
    await delay(50);
  }
}

/** A statement that would run long after the test, and the mark by which the server shows it. */
function longStatement() {
  const mark = `m${randomBytes(6).toString('hex')}`;
  const running = async () =>
    (
      await query(
        store.url,
        `select from pg_stat_activity where state = 'active' and query like '%${mark}%' and pid <> pg_backend_pid()`,
      )
    ).length;
  const runs = (count: number) =>
    until(
      async () => (await running()) === count,
      () => `${count} of ${mark} never run`,
    );
  return { statement: `select pg_sleep(600) as ${mark}`, begun: () => runs(1), ended: () => runs(0) };
}

describe('a statement is ended on the server', () => {
  test.each([
    ['SIGINT', []],
    ['SIGTERM', ['--csv']],
    ['SIGTERM', ['--write']],
    ['SIGHUP', ['--json']],
    // A killed process cannot ask the server to end the statement.
    ['SIGKILL', []],
  ] as const)('when %s ends sql %j', async (signal, flags) => {
    const { statement, begun, ended } = longStatement();
    const sql = cli.start(['sql', ...flags, statement], { DATABASE_URL: store.url });
    await begun();
    sql.child.kill(signal);
    if (signal === 'SIGHUP') sql.child.kill('SIGTERM');
    expect((await sql.ended).code).not.toBe(0);
    await ended();
  });
});

const onlyText = (screen: Screen) =>
  screen
    .lines()
    .map((line) => line.trimEnd())
    .join('\n');

async function runPrompt(work: (screen: Screen) => Promise<void>, more = ''): Promise<string> {
  const screen = openScreen(`${process.execPath} ${join(program, 'src', 'cli.js')} sql${more}`, {
    columns: 120,
    env: { DATABASE_URL: store.url, LOG_LEVEL: 'warn', HOME: '/nonexistent' },
  });
  try {
    await sees(screen, /^sql>$/m);
    await work(screen);
    screen.type('\\q\r');
    expect(await screen.ended).toBe(0);
    return onlyText(screen);
  } finally {
    screen.child.kill('SIGKILL');
  }
}

function sees(screen: Screen, pattern: RegExp): Promise<void> {
  const what = () => `${String(pattern)} is not on the screen:\n${onlyText(screen)}`;
  return until(() => pattern.test(onlyText(screen)), what);
}

describe('the prompt', () => {
  const CTRL_C = '\x03';
  const LEFT = '\x1b[D';

  test('drops what was typed at Ctrl-C: in the line, before its cursor and after it, and in lines before', async () => {
    const shown = await runPrompt(async (screen) => {
      screen.type('select * from swap');
      await sees(screen, /swap$/m);
      screen.type(`${CTRL_C}select 1 as one;\r`);
      await sees(screen, /^one\n *1$/m);
      screen.type(`delete from blocks${LEFT}${LEFT}${LEFT}`);
      await sees(screen, /blocks$/m);
      screen.type(`${CTRL_C}select 2 as two;\r`);
      await sees(screen, /^two\n *2$/m);
      screen.type('select 7\r');
      await sees(screen, /^ *->/m);
      screen.type(`,8${CTRL_C}select 3 as three;\r`);
      await sees(screen, /^three\n *3$/m);
    });
    expect(shown).not.toMatch(/error|wap|\?column\?/);
  });

  test('ends the running statement at Ctrl-C, with what was typed ahead, and continues', async () => {
    const { statement, begun, ended } = longStatement();
    const shown = await runPrompt(async (screen) => {
      screen.type(`${statement}; select 9 as never;\r`);
      await begun();
      screen.type('select 8 as ahead;\r');
      screen.type(CTRL_C);
      await sees(screen, /the statement was cancelled/);
      await ended();
      screen.type('select 4 as four;\r');
      await sees(screen, /^four\n *4$/m);
    });
    expect(shown).not.toMatch(/^(never|ahead)$/m);
    expect(shown).not.toMatch(/error/);
  });

  test('ends the statement that DuckDB runs over a lake at Ctrl-C, with what was typed ahead, and continues', async () => {
    const crawled = await openCrawledStore(twoDays);
    const folder = await mkdtemp(join(tmpdir(), 'toncenter-etl-session-'));
    try {
      const range = { from: '2026-01-31', to: '2026-02-02', only: ['blocks'] };
      await exported(crawled.url, { ...range, out: folder, format: 'parquet' });
      const shown = await runPrompt(async (screen) => {
        screen.type('select count(*) as endless from range(1000000000000) t(i) where hash(i) = 1;\r');
        await sees(screen, /endless.*;$/m);
        screen.type('select 8 as ahead;\r');
        screen.type(CTRL_C);
        await sees(screen, /the statement was cancelled/);
        screen.type('select count(*) > 0 as whole from blocks;\r');
        await sees(screen, /^whole\n *t$/m);
      }, ` --lake ${folder}`);
      expect(shown).not.toMatch(/error|^ahead$/m);
    } finally {
      await crawled.close();
      await rm(folder, { recursive: true });
    }
  });

  test('completes names and words by Tab, reads times, lists functions, and refuses unknown commands', async () => {
    const shown = await runPrompt(async (screen) => {
      screen.type('sel\t');
      await sees(screen, /select/);
      screen.type(' count(*) from daily_act\t');
      await sees(screen, /daily_activity/);
      screen.type(' d where d.abor\t');
      await sees(screen, /d\.aborted/);
      screen.type(' > 0;\r');
      await sees(screen, /^count\n *0$/m);
      screen.type('\\timing\r\\df\r');
      await sees(screen, /trace_tree\(trace\)[^]*rows\)/);
      screen.type('select 5 as five;\r');
      await sees(screen, /Time: \d+ ms/);
      screen.type('\\foo\r');
      await sees(screen, /unknown command \\foo/);
    });
    expect(shown).toMatch(/jetton_holders\(master, at/);
  });
});
