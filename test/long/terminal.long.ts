import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { sql } from 'drizzle-orm';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { compile } from '../support/program/compile.ts';
import { openTestStore } from '../support/database/database.ts';
import { openScreen } from '../support/program/screen.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';

const DATASETS = ['blocks', 'jetton_transfers', 'nft_transfers', 'validator_events'];
const BACKFILL = `backfill --from 2026-05-01 --to 2026-05-01T01:30Z --only ${DATASETS.join(',')}`;

let simulator: Simulator;
let program: string;
let home: string;
beforeAll(async () => {
  program = `node ${join(await compile(), 'src', 'cli.js')}`;
  home = await mkdtemp(join(tmpdir(), 'toncenter-etl-terminal-'));
  simulator = await startSimulator({
    start: Date.UTC(2026, 4, 1) / 1000,
    duration: 2 * 3600,
    load: 2,
    accounts: 100,
  });
});
afterAll(async () => {
  await simulator.close();
  await rm(home, { recursive: true, force: true });
});

const Pages = z.object({ pages: z.number() });

/** Slow enough that a run can be watched. */
const settings = (url: string) => ({
  HOME: home,
  DATABASE_URL: url,
  TONCENTER_NETWORK: simulator.url,
  TONCENTER_RPS: '2',
});

interface ShellResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in a shell. */
async function shell(command: string, env: Record<string, string>): Promise<ShellResult> {
  const child = spawn('bash', ['-c', command], {
    env: { PATH: process.env['PATH'], ...env },
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await code, stdout, stderr };
}

/** Lines of bars, by dataset. */
const barsIn = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => /^(\w+) +[=-]+ +(?:-|[\d.]+%) .*rows$/.exec(line)?.[1] ?? []);

/** Percentages of the line for all datasets. */
const percentIn = (lines: readonly string[]): string[] =>
  lines.flatMap((line) => /^in all +[=-]+ +(-|[\d.]+)%? /.exec(line)?.[1] ?? []);

describe.concurrent('progress of a backfill', () => {
  test.concurrent.each([80, 200])(
    'is shown at the bottom of a terminal of %i columns, below every line of the log',
    async (columns) => {
      const store = await openTestStore();
      const percents: string[] = [];
      let mostBars = 0;
      const run = openScreen(`${program} ${BACKFILL}`, {
        columns,
        env: { ...settings(store.url), LOG_LEVEL: 'debug' },
        onChange: (lines) => {
          mostBars = Math.max(mostBars, barsIn(lines).length);
          percents.push(...percentIn(lines));
        },
      });
      const code = await run.ended;
      const lines = run.lines();
      const [pages] = await store.database.rows(sql`select count(*)::int as pages from etl.pages`, Pages);
      const tables = openScreen(`${program} status; ${program} sql '\\d blocks'`, {
        columns,
        env: settings(store.url),
      });
      expect(await tables.ended).toBe(0);
      const narrow = openScreen(`${program} status`, { columns: 60, env: settings(store.url) });
      expect(await narrow.ended).toBe(0);
      await store.close();
      expect(narrow.lines().filter((line) => /^(dataset|jetton_transfers) +/.test(line))).toEqual([
        expect.stringMatching(/^dataset +rows +to \(UTC\) +holes( +lag)?$/),
        expect.stringMatching(/^jetton_transfers +\d+ +\S+ +\d+( +\S+)?$/),
      ]);
      const status = tables.lines().filter((line) => /^(dataset|nft_transfers) +/.test(line));
      expect(status).toEqual([
        expect.stringMatching(columns === 80 ? /^dataset +rows +to / : /^dataset +rows +covered from +to /),
        expect.stringMatching(/^nft_transfers +\d+ .*\d$/),
      ]);
      // Meanings that are too long for the terminal continue in lines of their own, and none is cut.
      const folded = tables.lines().filter((line) => /^ {20,}\S/.test(line));
      expect(folded.length).toBeGreaterThan(0);
      expect(tables.lines().filter((line) => line.includes('…'))).toEqual([]);
      expect(code).toBe(0);
      expect(mostBars).toBe(DATASETS.length);
      expect(lines.filter((line) => line.includes('page committed'))).toHaveLength(pages?.pages ?? 0);
      // The bars are at the bottom, once; only the last network check and the result come below them.
      const foot = lines.findIndex((line) => line.startsWith('blocks  ') && line.includes('===='));
      const logged = lines.slice(foot).filter((line) => line.includes('DEBUG'));
      expect(logged.filter((line) => !line.includes('/api/v3/masterchainInfo'))).toEqual([]);
      expect(percents[0]).toBe('0.0');
      expect(percents.at(-1)).toBe('100.0');
      // A cut word reaches the last column, and continues in the first one of the next line. A record may end
      // there.
      const cut = lines.filter(
        (line, row) => line.length === columns && !line.endsWith('}') && /^\S/.test(lines[row + 1] ?? ''),
      );
      expect(cut).toEqual([]);
    },
  );

  test.concurrent.each([
    [
      '',
      /^progress +[\d.]+% {2}(time left not known yet|.* left), .* rows\/s, \d+ requests, waits for the \w+/m,
    ],
    ['json', /^\{"event":"progress","percent":[\d.]+,.*"waitsFor":"\w+","datasets":\{"blocks":\{/m],
  ])(
    'goes to stderr in lines without a terminal, and only results to stdout (LOG_FORMAT=%s)',
    async (format, line) => {
      const store = await openTestStore();
      const more = { ...settings(store.url), LOG_FORMAT: format, LOG_LEVEL: 'warn' };
      const { code, stdout, stderr } = await shell(`${program} ${BACKFILL}`, more);
      expect(stderr).toMatch(line);
      expect(stdout).not.toContain('progress');
      expect(stdout).toContain('complete: ');
      const again = await shell(`${program} ${BACKFILL} --quiet`, { ...more, LOG_LEVEL: 'info' });
      await store.close();
      expect([code, again]).toEqual([0, { code: 0, stdout: '', stderr: '' }]);
    },
  );
});

describe('a closed stdout', () => {
  const dataDir = () => join(home, 'data');
  const hasServer = () => existsSync(join(dataDir(), 'postgres', 'postmaster.pid'));
  beforeAll(async () => {
    expect((await shell(`${program} migrate`, { HOME: home, ETL_DATA_DIR: dataDir() })).code).toBe(0);
  });

  const many = () => `${program} sql "select generate_series(1, 200000)"`;

  test('is no failure if its reader has seen enough, and the embedded server ends', async () => {
    const command = `set -o pipefail; ${many()} | head -1`;
    const { code, stdout, stderr } = await shell(command, { HOME: home, ETL_DATA_DIR: dataDir() });
    expect(stdout).toBe('generate_series\n');
    expect(stderr).not.toMatch(/EPIPE|\n +at /);
    expect(code).toBe(0);
    expect(hasServer()).toBe(false);
  });

  test('is a failure in a sentence if its disk is full, and the embedded server ends', async () => {
    const command = `${many()} > /dev/full`;
    const { code, stderr } = await shell(command, { HOME: home, ETL_DATA_DIR: dataDir() });
    expect(stderr).toContain('error: the results cannot be written: ENOSPC');
    expect(stderr).not.toMatch(/\n +at /);
    expect(code).toBe(1);
    expect(hasServer()).toBe(false);
  });

  test('and an unread stderr end no run', async () => {
    const { code } = await shell(`${program} sql --write "select 1" 2> /dev/full > /dev/null`, {
      HOME: home,
      ETL_DATA_DIR: dataDir(),
      LOG_LEVEL: 'trace',
    });
    expect(code).toBe(0);
  });
});
