import type { InFlight } from '../../budget/in-flight.ts';
import type { BusyMoment } from '../../read/activity.ts';

/** Seconds of one step of the commit history. */
export const STEP_SECONDS = 10;
/** Characters of JSON a second that a small machine reads and writes: two shared cores with the database on them. */
const USUAL = 10_000_000;
/** The busiest steps may be chance; the next one counts. */
const CHANCE = 2;

/** How fast this machine reads and writes. */
export interface MachineSpeed {
  /** Characters of JSON a second. */
  readonly perSecond: number;
  /** True if it was measured in recent commits. */
  readonly isSeen: boolean;
}

/**
 * The speed of the busiest steps if these were not limited by the rate of requests; else the usual speed, or
 * the measured one if that is higher. `sizes`: characters of a record, by dataset.
 */
export function machineSpeed(
  moments: readonly BusyMoment[],
  sizes: ReadonlyMap<string, number>,
  isRateBound: InFlight['isRateBound'],
): MachineSpeed {
  const steps = new Map<number, { size: number; requests: number; waitedMs: number }>();
  for (const { at, dataset, rows, requests, waitedMs } of moments) {
    const step = steps.get(at) ?? { size: 0, requests: 0, waitedMs: 0 };
    step.size += rows * (sizes.get(dataset) ?? 0);
    step.requests += requests;
    step.waitedMs += waitedMs;
    steps.set(at, step);
  }
  // If requests did not follow each other closely, there was nothing more to read: the daemon was idle.
  const busy = [...steps.values()].filter(({ waitedMs }) => waitedMs >= 1000 * STEP_SECONDS);
  const seen = busy.sort((a, b) => b.size - a.size)[CHANCE];
  if (seen === undefined || seen.size === 0) return { perSecond: USUAL, isSeen: false };
  const perSecond = seen.size / STEP_SECONDS;
  const isLimited = isRateBound(seen.requests, 1000 * STEP_SECONDS);
  return isLimited && perSecond < USUAL ? { perSecond: USUAL, isSeen: false } : { perSecond, isSeen: true };
}
