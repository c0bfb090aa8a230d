import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DAY } from '../../../src/range.ts';
import { startSimulator } from '../simulator/simulator.ts';
import type { Cli } from './cli.ts';

const START = Date.UTC(2026, 0, 1) / 1000;
const [FROM, TO] = [String(START), String(START + 300)];

/** Runs what the program can do with a database that is empty, one command after another; each must do its work. */
export async function runEveryCommand(cli: Cli, url: string, datasets: string): Promise<void> {
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
    expect({ args, code, said: codes.includes(code ?? -1) ? '' : stdout + stderr }).toEqual({
      args,
      code: codes.find((each) => each === code) ?? codes[0],
      said: '',
    });
  };
  try {
    await run(['migrate']);
    await run(['watch', 'add', account]);
    await run(['plan', ...range]);
    // Datasets of which this network has nothing have no end either.
    await run(['backfill', ...range, '--quiet'], [0, 3], { ETL_DATASETS: datasets });
    await run(['verify', ...range]);
    await run(['verify', ...range, '--deep', '100%', '--repair']);
    await run(['status', '--json']);
    await run(['quarantine', 'list']);
    // Settings that are no network of toncenter.com are findings.
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
  } finally {
    await simulator.close();
    await rm(scratch, { recursive: true, force: true });
  }
}
