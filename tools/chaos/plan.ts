import type { Faults } from '../../src/simulator/faults.ts';
import { Random } from '../../src/simulator/random.ts';
import type { SimulatorOptions } from '../../test/support/simulator/simulator.ts';

/** What is done to the processes and the database. */
export const HARMS = [
  'kill worker',
  'freeze worker',
  'drop connections',
  'end sessions',
  'kill database',
  'disk full',
  'read-only',
] as const;

export type Harm = (typeof HARMS)[number];

export interface Harmful {
  /** Milliseconds after the start. */
  readonly at: number;
  readonly harm: Harm;
  /** Which worker, where it is done to one. */
  readonly worker: number;
  /** How long it lasts, where it lasts. */
  readonly ms: number;
}

/** Everything that a seed decides. The same seed makes the same network, the same faults and the same schedule. */
export interface Plan {
  readonly seed: number;
  readonly seconds: number;
  readonly processes: number;
  readonly network: SimulatorOptions & { readonly start: number };
  /** Chain time at which the head stands at the start, and where it has come to at the end. */
  readonly head: { readonly from: number; readonly to: number };
  /** Chain seconds that are compared with the truth, half-open. */
  readonly range: { readonly from: number; readonly to: number };
  readonly faults: Faults;
  readonly harms: readonly Harmful[];
  /** Milliseconds that a commit takes, as on a slow disk: without it no process would ever be met in one. */
  readonly commitMs: number;
}

const START = Date.UTC(2026, 5, 1) / 1000;
/** Chain seconds before the head's start: history. */
const HISTORY = 100;
/** Chain seconds that pass in a second. */
const SPEED = 6;
/** A network of more chain seconds than this would take too long to compare. */
const LONGEST = 4000;
/** Chain seconds behind the range, in which everything late has appeared. */
const TAIL = 150;
/** The database is up again, and used, for at least so long before it is killed again. */
const DATABASE_PAUSE_MS = 5000;

export function planOf(seed: number, seconds: number, processes: number): Plan {
  const random = new Random(seed, 91);
  const duration = HISTORY + Math.min(LONGEST, Math.round(SPEED * seconds));
  return {
    seed,
    seconds,
    processes,
    network: {
      seed,
      start: START,
      duration: duration + TAIL,
      load: 1 + random.fraction() * 1.5,
      accounts: 60,
      reshardEvery: 15 + random.below(30),
      build: random.chance(0.5) ? '1.3' : '1.2',
      latencyMs: [0, 5 + random.below(60)],
    },
    head: { from: START + HISTORY, to: START + duration },
    range: { from: START, to: START + duration },
    faults: faultsOf(random),
    harms: harmsOf(random, seconds * 1000, processes),
    commitMs: random.below(25),
  };
}

/** Each fault is there in most seeds, and absent in some, so that faults that hide others do not always hide them. */
function faultsOf(random: Random): Faults {
  const often = (most: number) => (random.chance(0.75) ? random.fraction() * most : 0);
  return {
    ...(random.chance(0.6) && { timeoutAboveLimit: 60 + random.below(400) }),
    ...(random.chance(0.2) && { maxLimit: 50 + random.below(400) }),
    ...(random.chance(0.2) && { capLimit: 50 + random.below(200) }),
    timeout: often(0.04),
    storm: { probability: often(0.004), length: 2 + random.below(4) },
    ...(random.chance(0.6) && { stormSays: random.chance(0.5) ? 'seconds' : 'date' }),
    refusal: often(0.004),
    badGateway: often(0.04),
    reset: often(0.04),
    resetInBody: often(0.04),
    truncatedJson: often(0.04),
    slowBody: often(0.05),
    slowBodyMs: 100 + random.below(600),
    silentBody: often(0.004),
    shortBlocks: often(0.15),
    stale: often(0.2),
    staleSeconds: 1 + random.below(20),
    lateBlocks: { probability: often(0.02), seconds: 45 + random.below(30) },
    lateSplit: { seconds: random.below(10) },
    lateActions: { least: 1, most: 2 + random.below(8) },
    reclassify: { probability: often(0.4), seconds: 5 + random.below(40) },
  };
}

function harmsOf(random: Random, totalMs: number, processes: number): Harmful[] {
  const harms: Harmful[] = [];
  let database = -Infinity;
  for (let at = 1200; at < totalMs; at += 800 + random.below(2400)) {
    const drawn = draw(random.fraction());
    const harm = drawn === 'kill database' && at - database < DATABASE_PAUSE_MS ? 'drop connections' : drawn;
    if (harm === 'kill database') database = at;
    // The first of several workers is never killed: its memory can be watched.
    const worker =
      processes > 1 && harm === 'kill worker' ? 1 + random.below(processes - 1) : random.below(processes);
    harms.push({ at, harm, worker, ms: 1000 + random.below(2500) });
  }
  return harms;
}

function draw(point: number): Harm {
  if (point < 0.3) return 'kill worker';
  if (point < 0.58) return 'freeze worker';
  if (point < 0.72) return 'drop connections';
  if (point < 0.82) return 'end sessions';
  if (point < 0.92) return 'kill database';
  return point < 0.96 ? 'disk full' : 'read-only';
}
