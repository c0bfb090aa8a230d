import type { Faults } from '../../src/simulator/faults.ts';
import type { Range } from '../../src/range.ts';
import { Random } from '../../src/simulator/random.ts';
import type { SimulatorOptions } from '../../test/support/simulator/simulator.ts';

/** Harms to the processes and the database. */
export const HARMS = [
  'kill worker',
  'freeze worker',
  'drop connections',
  'end sessions',
  'kill database',
  'disk full',
  'read-only',
  'fill connections',
  'fail over',
  'stand still',
  'step clock',
] as const;

export type Harm = (typeof HARMS)[number];

export interface Harmful {
  /** Milliseconds after the start. */
  readonly at: number;
  readonly harm: Harm;
  /** The worker, if the harm is to one. */
  readonly worker: number;
  /** The duration, if the harm has one. */
  readonly ms: number;
  /** The new error of a worker's clock, if the clock is stepped. */
  readonly stepMs: number;
}

/** Everything that a seed decides. The same seed makes the same network, the same faults and the same schedule. */
export interface Plan {
  readonly seed: number;
  readonly seconds: number;
  readonly processes: number;
  readonly network: SimulatorOptions & { readonly start: number };
  /** The chain time of the head at the start and at the end. */
  readonly head: { readonly from: number; readonly to: number };
  /** Chain seconds that are compared with the truth, half-open. */
  readonly range: { readonly from: number; readonly to: number };
  readonly faults: Faults;
  readonly harms: readonly Harmful[];
  /** Milliseconds that a commit takes, as on a slow disk: otherwise no process would ever be killed in one. */
  readonly commitMs: number;
  /** The API's name has a second address, at which no server answers. */
  readonly hasDeadAddress: boolean;
  /** The API answers at an address of IPv6 and at no other. */
  readonly isIpv6: boolean;
  /** In the end a newer version of the program migrates the database, while this one runs. */
  readonly isMigrated: boolean;
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
/** In a longer storm the harms are farther apart, so that there are hundreds of them. */
const STORM_S = 20;
/**
 * In a storm of at least this length the database fails over twice, at a third and at two thirds; otherwise
 * at random.
 */
const SOAK_S = 600;

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
      load: {
        base: 1 + random.fraction() * 1.5,
        dead: random.chance(0.4) ? [silenceOf(random, duration)] : [],
      },
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
    hasDeadAddress: random.chance(0.4),
    isIpv6: random.chance(0.3),
    isMigrated: random.chance(0.3),
  };
}

/** Nothing happens for a while: traces that had begun before end long afterwards. */
function silenceOf(random: Random, duration: number): Range {
  const from = START + random.below(duration);
  return { from, to: from + 20 + random.below(80) };
}

/** Each fault is in most seeds, and absent from some, so that faults that hide others do not always hide them. */
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
    silentHead: often(0.002),
    dribble: often(0.002),
    endlessHead: often(0.002),
    endlessBody: often(0.002),
    shortBlocks: often(0.15),
    stale: often(0.2),
    staleSeconds: 1 + random.below(20),
    lateBlocks: { probability: often(0.02), seconds: 45 + random.below(30) },
    ...(random.chance(0.4) && {
      reorganise: { probability: random.fraction() * 0.1, seconds: 10 + random.below(80) },
    }),
    lateSplit: { seconds: random.below(10) },
    lateActions: { least: 1, most: 2 + random.below(8) },
    reclassify: { probability: often(0.4), seconds: 5 + random.below(40) },
  };
}

function harmsOf(random: Random, totalMs: number, processes: number): Harmful[] {
  const harms: Harmful[] = [];
  const rarer = Math.sqrt(Math.max(1, totalMs / 1000 / STORM_S));
  const isSoak = totalMs >= SOAK_S * 1000;
  let database = -Infinity;
  for (let at = 1200; at < totalMs; at += rarer * (800 + random.below(2400))) {
    const drawn = draw(random.fraction(), isSoak);
    const isTooSoon = OF_DATABASE.has(drawn) && at - database < DATABASE_PAUSE_MS;
    const harm = isTooSoon ? 'drop connections' : drawn;
    if (OF_DATABASE.has(harm)) database = at;
    // The first of several workers is never killed: its memory can be watched.
    const worker =
      processes > 1 && harm === 'kill worker' ? 1 + random.below(processes - 1) : random.below(processes);
    const ms = 1000 + random.below(2500);
    // Derived, so that the rest of the plan does not depend on it.
    harms.push({ at, harm, worker, ms, stepMs: stepOf(at, ms) });
  }
  const turns = [1 / 3, 2 / 3].map((share): Harmful => ({
    at: share * totalMs,
    harm: 'fail over',
    worker: 0,
    ms: 1000,
    stepMs: 0,
  }));
  return isSoak ? [...harms, ...turns].sort((a, b) => a.at - b.at) : harms;
}

/** Up to five hours back or forward. */
function stepOf(at: number, ms: number): number {
  const hours = (Math.floor(at) + ms) % 11;
  return (hours - 5) * 3_600_000;
}

/** After these the database has to come back before the next of them. */
export const OF_DATABASE: ReadonlySet<Harm> = new Set(['kill database', 'fail over']);

function draw(point: number, isSoak: boolean): Harm {
  const shares: readonly (readonly [Harm, number])[] = [
    ['kill worker', 0.27],
    ['freeze worker', 0.5],
    ['drop connections', 0.62],
    ['end sessions', 0.72],
    ['kill database', 0.8],
    [isSoak ? 'kill database' : 'fail over', 0.83],
    ['disk full', 0.87],
    ['read-only', 0.91],
    ['fill connections', 0.94],
    ['stand still', 0.96],
  ];
  return shares.find(([, until]) => point < until)?.[0] ?? 'step clock';
}
