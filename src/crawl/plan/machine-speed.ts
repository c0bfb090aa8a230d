import type { BusyMoment } from '../../read/busy-moments.ts';

/** Seconds of a step of what was committed. */
export const STEP_SECONDS = 10;
/** What a small machine takes in and writes, two shared cores with the database on them, characters of JSON a second. */
const USUAL = 10_000_000;
/** The busiest steps may be chance; the one behind them counts. */
const CHANCE = 2;
/** With so much of the requests allowed, the limit was not the machine. */
const RATE_BOUND = 0.8;

/** How fast this machine reads and writes. */
export interface MachineSpeed {
  /** Characters of JSON a second. */
  readonly perSecond: number;
  /** True where it was seen, in what lately was committed. */
  readonly isSeen: boolean;
}

/**
 * The speed of the busiest moments, where these were not bound by the rate of requests; else the usual one, or what was
 * seen if that is more. `sizes`: characters of a record, by dataset.
 */
export function machineSpeed(
  moments: readonly BusyMoment[],
  sizes: ReadonlyMap<string, number>,
  rps: number,
): MachineSpeed {
  const steps = new Map<number, { size: number; requests: number; waitedMs: number }>();
  for (const { at, dataset, rows, requests, waitedMs } of moments) {
    const step = steps.get(at) ?? { size: 0, requests: 0, waitedMs: 0 };
    step.size += rows * (sizes.get(dataset) ?? 0);
    step.requests += requests;
    step.waitedMs += waitedMs;
    steps.set(at, step);
  }
  // Where requests did not follow each other closely, there was nothing more to read: a daemon at rest.
  const busy = [...steps.values()].filter(({ waitedMs }) => waitedMs >= 1000 * STEP_SECONDS);
  const seen = busy.sort((a, b) => b.size - a.size)[CHANCE];
  if (seen === undefined || seen.size === 0) return { perSecond: USUAL, isSeen: false };
  const perSecond = seen.size / STEP_SECONDS;
  const isRateBound = seen.requests / STEP_SECONDS > RATE_BOUND * rps;
  return isRateBound && perSecond < USUAL ? { perSecond: USUAL, isSeen: false } : { perSecond, isSeen: true };
}
