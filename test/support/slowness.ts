import { availableParallelism, loadavg } from 'node:os';

/** How many times as long as on an idle machine something may take now: what runs of late, for each core. At least 1. */
export function slowness(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}
