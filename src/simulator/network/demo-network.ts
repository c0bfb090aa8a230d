import type { SimulatorOptions } from '../http/server.ts';

const LIVELY = { seed: 2026, load: { base: 4, dayCycle: 0.3 }, accounts: 800 } as const;

/** The network of `demo`: two hours that are always the same, so that a second run finds everything covered. */
export const demoNetwork = {
  ...LIVELY,
  start: Date.UTC(2026, 0, 1) / 1000,
  duration: 2 * 3600,
  globalId: -777,
} satisfies SimulatorOptions;

/** A demo network that goes on: its head moves with the wall clock. Another network, so no database mixes the two. */
export const LIVE_DEMO_ID = -778;

/** The same chain at each start that names the same first second. */
export function liveDemoNetwork(genesis: number): SimulatorOptions {
  return { ...LIVELY, start: genesis, live: {}, globalId: LIVE_DEMO_ID };
}
