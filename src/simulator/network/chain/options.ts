import { UsageError } from '../../../errors.ts';
import type { Range } from '../../../range.ts';
import { SLOTS } from './tables/accounts.ts';
import type { Family } from './tables/family.ts';

/** A second that holds an exact number of transactions. */
export interface Tie {
  /** Unix seconds. */
  readonly second: number;
  /** All transactions of the network whose `now` is that second. */
  readonly count: number;
  /** True: all of them share one lt (on as many accounts); false or absent: they have the lts that blocks give them. */
  readonly sameLt?: boolean;
  /**
   * The kind of each of these transactions, so that an index lists as many rows of the family in that second. With
   * `traces`, each is a trace of its own, with one action. Default: any kind.
   */
  readonly of?: Family | 'traces';
}

/** What wallets may do. */
export const DEEDS = [
  'transfer',
  'jetton_transfer',
  'swap',
  'burn',
  'nft',
  'call',
  'batch',
  'deploy',
] as const;

export type Deed = (typeof DEEDS)[number];

/** How often wallets do what, relative to each other. */
const MIX: Readonly<Record<Deed, number>> = {
  transfer: 0.26,
  jetton_transfer: 0.34,
  swap: 0.08,
  burn: 0.04,
  nft: 0.08,
  call: 0.15,
  batch: 0.03,
  deploy: 0.02,
};

/** Load over time, as plain data. */
export interface LoadProfile {
  /** Transactions a second at the mean of the day. */
  readonly base: number;
  /** How far noon and midnight (UTC) lie from the mean, 0..1; default 0. */
  readonly dayCycle?: number;
  /** Periods in which nothing happens: messages on their way wait until the end. */
  readonly dead?: readonly Range[];
  /** Seconds with this many additional transactions. */
  readonly bursts?: readonly { readonly second: number; readonly count: number }[];
}

export type Load = number | LoadProfile | ((second: number) => number);

/** The options of a generated network. Equal options give equal networks, byte by byte. */
export interface ChainOptions {
  /** Default 1. */
  readonly seed?: number;
  /** Unix seconds of the first masterchain block; default 2026-01-01. */
  readonly start?: number;
  /** Seconds that the network lasts; absent: it grows for ever (live). Its last seconds only finish what is under way. */
  readonly duration?: number;
  /** Transactions a second, default 10. */
  readonly load?: Load;
  /** Wallets; with their jetton wallets, items and contracts the network has about seven times as many accounts. Default 2000. */
  readonly accounts?: number;
  /** Default -777. */
  readonly globalId?: number;
  /** Seconds between masterchain blocks, may be a fraction; default 2.5. */
  readonly masterchainInterval?: number;
  /** Seconds between blocks of a shard; default the masterchain's, rounded to a divisor of it. */
  readonly shardInterval?: number;
  /** Seqno of the first masterchain block; above 1 its parents were never indexed. Default 1. */
  readonly firstSeqno?: number;
  /** Greatest number of shards of the basechain (1, 2, 4 or 8); default 4. */
  readonly maxShards?: number;
  /** Masterchain blocks between two changes of the shards; default 40. */
  readonly reshardEvery?: number;
  /** Masterchain blocks between those with tick-tock transactions, 0 for none; default 5. */
  readonly tickTockEvery?: number;
  readonly ties?: readonly Tie[];
  /**
   * How often wallets do what, relative to each other. What is left out keeps its share: transfer 0.26, jetton_transfer
   * 0.34, swap 0.08, burn 0.04, nft 0.08, call 0.15, batch 0.03, deploy 0.02. `{ burn: 2 }` makes most deeds burns.
   */
  readonly mix?: Readonly<Partial<Record<Deed, number>>>;
  /** Seconds of a validators' cycle, for each of which there is an election; default 1800. */
  readonly electionSeconds?: number;
  /** Complaints about the validators of each cycle; default 6. */
  readonly complaints?: number;
  /** How often a jetton wallet refuses what it is sent, 0 to 1; default 0. */
  readonly refusals?: number;
  /** Nominator pools, the first contracts; default 3, at most 4. */
  readonly pools?: number;
  /** Periods in which no masterchain block registers the new blocks of one shard. */
  readonly lags?: readonly Range[];
}

/** {@link ChainOptions} with every default filled in. */
export interface ResolvedChainOptions {
  readonly seed: number;
  readonly start: number;
  readonly end: number;
  readonly load: (second: number) => number;
  readonly accounts: number;
  readonly globalId: number;
  readonly masterchainInterval: number;
  readonly roundsPerTick: number;
  readonly firstSeqno: number;
  readonly maxShards: number;
  readonly reshardEvery: number;
  readonly tickTockEvery: number;
  readonly ties: readonly Tie[];
  readonly mix: Readonly<Record<Deed, number>>;
  readonly electionSeconds: number;
  readonly complaints: number;
  readonly refusals: number;
  readonly pools: number;
  readonly lags: readonly Range[];
}

const FIRST_DAY = 1767225600;

/**
 * Fills in the defaults.
 * @throws UsageError if a network cannot be built as asked.
 */
export function resolveChainOptions(options: ChainOptions): ResolvedChainOptions {
  const { start = FIRST_DAY, masterchainInterval = 2.5, shardInterval = masterchainInterval } = options;
  const resolved: ResolvedChainOptions = {
    ...DEFAULTS,
    ...Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)),
    start,
    end: options.duration === undefined ? Infinity : start + options.duration,
    load: loadFunction(options.load ?? 10),
    masterchainInterval,
    roundsPerTick: Math.max(1, Math.round(masterchainInterval / shardInterval)),
    mix: { ...MIX, ...options.mix },
    ties: (options.ties ?? []).toSorted((a, b) => a.second - b.second),
  };
  refuse(resolved);
  return resolved;
}

const DEFAULTS = {
  seed: 1,
  accounts: 2000,
  globalId: -777,
  firstSeqno: 1,
  maxShards: 4,
  reshardEvery: 40,
  tickTockEvery: 5,
  electionSeconds: 1800,
  complaints: 6,
  refusals: 0,
  pools: 3,
  lags: [],
} as const;

function refuse(options: ResolvedChainOptions): void {
  if (options.accounts < 40) throw new UsageError('A simulated network needs at least 40 accounts.');
  if (options.masterchainInterval <= 0)
    throw new UsageError('The masterchain interval must be above 0 seconds.');
  if (![1, 2, 4, 8].includes(options.maxShards))
    throw new UsageError('The shards can be at most 1, 2, 4 or 8.');
  if (options.pools < 1 || options.pools > 4) throw new UsageError('There can be 1 to 4 nominator pools.');
  if (options.electionSeconds < 60) throw new UsageError('An election lasts at least 60 seconds.');
  for (const tie of options.ties) {
    if (tie.second < options.start + 60)
      throw new UsageError(`A tie at second ${tie.second} is too early.`, {
        hint: `Accounts must be there first: choose a second from ${options.start + 60} on.`,
      });
    refuseSameLt(tie, options.accounts);
  }
}

function refuseSameLt({ of, count, sameLt }: Tie, wallets: number): void {
  if (sameLt !== true) return;
  if (of === 'validator_events' || of === 'pool_events' || of === 'traces')
    throw new UsageError(`Rows of ${of} cannot share one lt: they are transactions of one account.`);
  const jettons = of === 'jetton_transfers' || of === 'jetton_burns';
  const needed = jettons ? count / SLOTS : count;
  if (needed > wallets / 2)
    throw new UsageError(`${count} transactions that share one lt need as many accounts.`, {
      hint: `Give the network at least ${Math.ceil(needed * 2)} accounts.`,
    });
}

function loadFunction(load: Load): (second: number) => number {
  if (typeof load === 'function') return load;
  if (typeof load === 'number') return () => load;
  const bursts = new Map((load.bursts ?? []).map((burst) => [burst.second, burst.count]));
  const dead = load.dead ?? [];
  return (second) => {
    if (dead.some((stretch) => second >= stretch.from && second < stretch.to)) return 0;
    const swing = 1 - (load.dayCycle ?? 0) * Math.cos((second / 86400) * 2 * Math.PI);
    return load.base * swing + (bursts.get(second) ?? 0);
  };
}
