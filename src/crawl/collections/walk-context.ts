import type { Choices } from '../../settings/config.ts';
import type { Walk } from '../../dataset/walk.ts';
import type { Collection } from '../../dataset/dataset.ts';
import type { CursorClaim } from '../../ledger/stored-cursors.ts';
import type { Learned } from '../../write/commit.ts';
import type { Priority } from '../../budget/priority.ts';
import type { Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { NetworkWatch } from '../network-guard.ts';
import { unixSeconds } from '../../clock.ts';
import type { NotServedError } from '../../errors.ts';

/** Lets concurrent walks take turns. */
export interface WalkTurns {
  /** Sends a request when it is the walk's turn. */
  ask<T>(walk: string, request: () => Promise<T>): Promise<T>;
  /** Searches for subjects, which is work for the database. */
  gather<T>(search: () => Promise<T>): Promise<T>;
}

/** Used if walks run one after the other, as fast as the budget allows. */
export const noTurns: WalkTurns = { ask: (_, request) => request(), gather: (search) => search() };

/** Milliseconds after which a running walk looks for new subjects again. */
const RENEWAL_MS = 60_000;

/**
 * Returns a function that says whether a long walk has to look for new subjects again. A backfill reads
 * everything once and never has to.
 */
export function createRenewal({
  context: { clock },
  priority,
}: Pick<RunContext, 'context' | 'priority'>): () => boolean {
  let last = clock.monotonic();
  return () => {
    const isDue = priority !== 'backfill' && clock.monotonic() - last >= RENEWAL_MS;
    if (isDue) last = clock.monotonic();
    return isDue;
  };
}

/** The name of a walk, unique among all datasets. */
export function nameOf({
  dataset,
  walk,
}: {
  dataset: Pick<Collection, 'name'>;
  walk: Pick<Walk, 'name'>;
}): string {
  return `${dataset.name}/${walk.name}`;
}

/** What all walks of a run share. */
export interface RunContext {
  readonly context: CrawlContext;
  /** Name of this process. */
  readonly owner: string;
  readonly choices: Choices;
  /** Collections whose records come with the responses of other collections. */
  readonly piggybacked: readonly Collection[];
  /** The range whose masterchain blocks and subjects are wanted now; undefined if no range was requested. */
  readonly range: () => Range | undefined;
  /** The first masterchain block of the index. */
  readonly firstSeqno: number;
  readonly priority: Priority;
  /** Unix seconds on the database's clock. No subject is looked up twice after this; if infinite, within one walk. */
  readonly began: number;
  readonly stop: Stop;
  readonly turns: WalkTurns;
}

/**
 * How a walk ended. Undefined: everything was read. The error: a part is not served. `held`: another worker reads it, or
 * a part of it.
 */
export type WalkEnd = NotServedError | 'held' | undefined;

/** One walk of a run, whose cursor is claimed. */
export interface WalkContext<W extends Walk = Walk> extends RunContext {
  readonly dataset: Collection;
  readonly walk: W;
  /** Watches the network since the walk began. */
  readonly network: NetworkWatch;
  readonly claim: CursorClaim;
  /** The cursor as the last commit left it. */
  readonly stored: unknown;
  /** Commits the cursor and what was learned about subjects, if there are no rows to write. */
  readonly keep: (cursor: object, learned?: Learned) => Promise<void>;
}

/** True if the walk has to end. */
export function isOver({ stop }: Pick<RunContext, 'stop'>): boolean {
  return stop.finishing.aborted;
}

/** Unix seconds. */
export function nowOf({ context }: RunContext): number {
  return unixSeconds(context.clock);
}
