import { availableParallelism, loadavg } from 'node:os';

/**
 * The factor by which operations may be slower now than on an idle machine: the recent load of each core. At
 * least 1.
 */
export function slowness(): number {
  return Math.max(1, (loadavg()[0] ?? 0) / availableParallelism());
}
