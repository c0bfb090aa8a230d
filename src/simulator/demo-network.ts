import type { SimulatorOptions } from './server.ts';

/** The network of `demo`: three hours that are always the same, so that a second run finds its own work done. */
export const demoNetwork = {
  seed: 2026,
  start: Date.UTC(2026, 0, 1) / 1000,
  duration: 3 * 3600,
  load: { base: 4, dayCycle: 0.3 },
  accounts: 800,
} satisfies SimulatorOptions;
