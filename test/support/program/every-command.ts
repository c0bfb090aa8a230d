import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DAY } from '../../../src/range.ts';
import { startSimulator } from '../simulator/simulator.ts';
import type { Cli } from './cli.ts';

const START = Date.UTC(2026, 0, 1) / 1000;
const [FROM, TO] = [String(START), String(START + 300)];

/**
 * Runs everything that the program can do with an empty database, one command after another; each must
 * succeed. With `target`, another empty database, it also promotes to that one.
 */
export async function runEveryCommand(
  cli: Cli,
  url: string,
  datasets: string,
  target?: string,
): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'toncenter-etl-every-'));
  const simulator = await startSimulator({ start: START, duration: 700, load: 0.5, accounts: 40 });
  const settings = {
    DATABASE_URL: url,
    TONCENTER_NETWORK: simulator.url,
    TONCENTER_RPS: '500',
    ETL_DATASETS: 'blocks,transactions,traces',
    ETL_ATTEMPTS: '1',
  };
  const range = ['--from', FROM, '--to', TO];
  const account = `0:${'A'.repeat(64)}`;
  const run = async (args: readonly string[], codes: readonly number[] = [0], extra = {}) => {
    const { code, stdout, stderr } = await cli.ask(args, { ...settings, ...extra });
    expect({ args, code, output: codes.includes(code ?? -1) ? '' : stdout + stderr }).toEqual({
      args,
      code: codes.find((each) => each === code) ?? codes[0],
      output: '',
    });
  };
  try {
    await run(['migrate']);
    await run(['watch', 'add', account]);
    await run(['plan', ...range]);
    // Datasets without rows in this network have no end either.
    await run(['backfill', ...range, '--quiet'], [0, 3], { ETL_DATASETS: datasets });
    await run(['verify', ...range]);
    await run(['verify', ...range, '--deep', '100%', '--repair']);
    await run(['status', '--json']);
    await run(['quarantine', 'list']);
    // Settings of a network that is not toncenter.com are findings.
    await run(['doctor'], [0, 1]);
    await run(['export', ...range, '--out', join(scratch, 'lake')]);
    await run([
      'sql',
      `select count(*), max(utime) from transactions where account <> 'x' and utime > now() - interval '90 years'`,
    ]);
    await run(['sql', 'select * from ton.trace_tree((select trace_id from traces limit 1))']);
    await run([
      'sql',
      `select etl.assert_complete('transactions', to_timestamp(${START}::float8), to_timestamp(${START + 300}::float8))`,
    ]);
    await run(['sql', '--write', 'select 1']);
    await run(['reader', '--name', `reader_${process.pid}`]);
    await run(['prune', '--dry-run'], [0], { ETL_RETENTION: 'blocks:90d' });
    await run(['prune'], [0], {
      ETL_RETENTION: `blocks:${Math.ceil((Date.now() / 1000 - START) / DAY) + 400}d`,
    });
    const more = { ETL_DATASETS: datasets, ETL_LISTEN: 'off', ETL_SINCE: FROM, ETL_WATERMARK_DELAY: '0s' };
    const loud = { ...settings, ...more, ETL_LAKE: join(scratch, 'lake'), LOG_LEVEL: 'info' };
    const daemon = cli.start(['sync'], loud);
    // Before that, a signal ends it like any process; blocks of later seconds may be stored already.
    await daemon.sees(/daemon started/);
    // It has continued from the end of the backfill.
    const newest = `select max(utime) > to_timestamp(${START + 400}::float8) as reached from blocks`;
    await expect
      .poll(async () => (await cli.ask(['sql', '--csv', newest], settings)).stdout, { timeout: 60_000 })
      .toBe('reached\nt\n');
    daemon.child.kill('SIGTERM');
    expect(await daemon.ended).toMatchObject({ code: 0 });
    if (target === undefined) return;
    const embedded = { DATABASE_URL: '', ETL_DATA_DIR: join(scratch, 'data') };
    await run(['backfill', ...range, '--quiet'], [0], embedded);
    await run(['promote', target], [0], embedded);
  } finally {
    await simulator.close();
    await rm(scratch, { recursive: true, force: true });
  }
}
