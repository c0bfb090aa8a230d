import { expect, test } from 'vitest';
import { startSimulator } from '../support/simulator/simulator.ts';
import { ask } from './ask.ts';

const START = 1_767_225_600;
const HEAD = START + 900;
const SIZE = { start: START, duration: 1200, headTime: HEAD, load: 12, accounts: 200 } as const;
const ARCHIVE = { ageSeconds: 300, lagSeconds: 120 } as const;

/** The newest second that a window from `start` on shows. */
async function newest(build: '1.2' | '1.3', query: string): Promise<number> {
  const simulator = await startSimulator({ ...SIZE, build, archive: ARCHIVE });
  const { body } = await ask(simulator, `/api/v3/blocks?${query}&limit=1&offset=0`);
  await simulator.close();
  return Number(body.blocks?.[0]?.gen_utime ?? 0);
}

test('a window that begins before the split is served whole by an archive that lags', async () => {
  const old = await newest('1.3', `start_utime=${HEAD - 301}&sort=desc`);
  expect(old).toBeLessThanOrEqual(HEAD - 120);
  expect(old).toBeGreaterThan(HEAD - 130);
  expect(await newest('1.3', `start_utime=${HEAD - 300}&sort=desc`)).toBeGreaterThan(HEAD - 10);
  expect(await newest('1.3', 'sort=desc')).toBeGreaterThan(HEAD - 10);
});

test('so is a scan upwards from the beginning, and every list with windows', async () => {
  const simulator = await startSimulator({ ...SIZE, archive: ARCHIVE });
  const window = `start_utime=${HEAD - 400}&sort=desc&limit=1`;
  const archived = await ask(simulator, `/api/v3/transactions?${window}`);
  expect(archived.body.transactions?.[0]?.now).toBeLessThanOrEqual(HEAD - 120);
  for (const list of ['jetton/transfers', 'actions', 'traces']) {
    const { body } = await ask(simulator, `/api/v3/${list}?${window}`);
    const [transfer, action, trace] = [body.jetton_transfers?.[0], body.actions?.[0], body.traces?.[0]];
    const second = transfer?.transaction_now ?? action?.trace_end_utime ?? trace?.end_utime;
    expect(second).toBeLessThanOrEqual(HEAD - 120);
  }
  const all = await ask(simulator, '/api/v3/blocks?sort=asc&limit=1000&offset=900');
  const times = all.body.blocks?.map((block) => Number(block.gen_utime)) ?? [];
  expect(Math.max(...times)).toBeLessThanOrEqual(HEAD - 120);
  await simulator.close();
});

test('build 1.2 has no archive', async () => {
  expect(await newest('1.2', `start_utime=${HEAD - 800}&sort=desc`)).toBeGreaterThan(HEAD - 10);
});
