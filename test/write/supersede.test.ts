import { afterAll, beforeAll, expect, test } from 'vitest';
import tracesJob from '../../jobs/traces.ts';
import { trace_nodes, traces } from '../../src/tables/ton/traces.ts';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { openPageStore, type PageStore } from '../support/database/page-store.ts';

const START = Date.UTC(2026, 2, 1) / 1000;
let pages: PageStore;
let simulator: Simulator;

beforeAll(async () => {
  pages = await openPageStore();
  simulator = await startSimulator({ start: START, duration: 600, load: 2 });
});
afterAll(async () => {
  await simulator.close();
  await pages.close();
});

async function stored(): Promise<{ ends: unknown[]; nodes: number }> {
  const ends = (await pages.read(traces, 'true', [])).map(({ end_lt }) => end_lt);
  return { ends, nodes: (await pages.read(trace_nodes, 'true', [])).length };
}

test('a trace that ended again replaces its older copy with all its nodes, and the older copy never comes back', async () => {
  const [trace] = [...simulator.truth.traces()].filter(
    ({ transactions_order }) => transactions_order.length > 3,
  );
  const older = { ...trace!, end_utime: START + 500 };
  const newer = { ...older, end_utime: START + 560, end_lt: String(BigInt(older.end_lt) + 5n) };
  await pages.write(tracesJob, [older]);
  const before = await stored();
  expect(before.ends).toEqual([older.end_lt]);
  expect(before.nodes).toBeGreaterThan(3);
  await pages.write(tracesJob, [newer]);
  const after = { ends: [newer.end_lt], nodes: before.nodes };
  expect(await stored()).toEqual(after);
  await pages.write(tracesJob, [older]);
  expect(await stored()).toEqual(after);
});
