import type { Clock } from '../clock.ts';
import { UsageError } from '../errors.ts';
import { ChainLedger } from './network/chain-ledger.ts';
import { Chain } from './network/chain/chain.ts';
import type { ChainOptions } from './network/chain/options.ts';
import { CorpusLedger } from './recorded/corpus/corpus-ledger.ts';
import { readRecorded } from './recorded/corpus/recorded.ts';
import type { Faults } from './faults.ts';
import type { Ledger, View } from './ledger.ts';
import { Visibility } from './network/visibility.ts';

/** How the head of a generated network moves. */
export interface HeadOptions {
  /** A head that stands still, unix seconds; default the network's end. A simulator's `headTime` can be moved by hand. */
  readonly headTime?: number;
  /** A head that moves with the wall clock. */
  readonly live?: {
    /** Chain time at the simulator's start, unix seconds; default the wall clock's. */
    readonly head?: number;
    /** Chain seconds a wall second; default 1. */
    readonly speed?: number;
  };
  /** True: the JSON of all transactions is made at the start and kept in a file, for benchmarks. Not with `live`. */
  readonly prebuilt?: boolean;
}

/** What is visible now. */
export interface Head {
  /** What a replica shows whose data are `staleSeconds` behind. */
  view(staleSeconds: number): View;
  /** Chain time of the head, unix seconds. */
  headTime: number;
  close(): void;
}

/** Data to serve, and what of them is visible now. */
export interface Source extends Head {
  readonly ledger: Ledger;
}

/** A generated network whose head stands still or moves with the wall clock. */
export class ChainSource implements Source {
  readonly chain: Chain;
  readonly ledger: ChainLedger;
  private readonly visibility: Visibility;
  private readonly clock: Clock;
  private readonly speed: number;
  private base: number;
  private baseAt: number;

  constructor(options: ChainOptions & HeadOptions, faults: Faults, clock: Clock) {
    if (options.prebuilt === true && options.live !== undefined)
      throw new UsageError('A live network grows: its answers cannot be made in advance.');
    this.clock = clock;
    this.speed = options.live === undefined ? 0 : (options.live.speed ?? 1);
    this.baseAt = clock.monotonic();
    const liveHead =
      options.live === undefined ? undefined : (options.live.head ?? Math.floor(clock.now() / 1000));
    this.chain = new Chain({ ...options, ...missingBounds(options, liveHead) });
    this.base = liveHead ?? options.headTime ?? this.chain.world.options.end;
    this.ledger = new ChainLedger(this.chain.world, faults);
    this.visibility = new Visibility(this.chain.world, faults);
    this.chain.extendTo(this.base);
    if (options.prebuilt === true) this.ledger.prebuild();
  }

  close(): void {
    this.ledger.close();
  }

  get headTime(): number {
    return this.base + ((this.clock.monotonic() - this.baseAt) / 1000) * this.speed;
  }

  set headTime(utime: number) {
    this.base = utime;
    this.baseAt = this.clock.monotonic();
  }

  view(staleSeconds: number): View {
    const head = this.headTime - staleSeconds;
    this.chain.extendTo(this.headTime);
    return this.visibility.at(head);
  }
}

/** A live network begins an hour before its head, another one lasts an hour, where nothing else is said. */
function missingBounds(options: ChainOptions & HeadOptions, liveHead: number | undefined): ChainOptions {
  if (liveHead !== undefined) return options.start === undefined ? { start: liveHead - HOUR } : {};
  return options.headTime === undefined && options.duration === undefined ? { duration: HOUR } : {};
}

const HOUR = 3600;

/** Recorded data: all of it is visible, always. */
export class CorpusSource implements Source {
  readonly ledger: CorpusLedger;
  headTime: number;

  /** The network is read off the directory's name: `testnet` in it means testnet, else mainnet. */
  constructor(directory: string, clock: Clock) {
    const network = directory.includes('testnet') ? 'testnet' : 'mainnet';
    this.ledger = new CorpusLedger(readRecorded(directory), network, Math.floor(clock.now() / 1000));
    this.headTime = this.ledger.lastUtime;
  }

  view(): View {
    const { firstSeqno, lastSeqno } = this.ledger;
    return {
      headTime: this.headTime,
      head: lastSeqno,
      seesMasterchain: (seqno) => seqno >= firstSeqno && seqno <= lastSeqno,
    };
  }

  close(): void {
    // Nothing is open.
  }
}
