import type { Choices } from '../../settings/config.ts';
import type { Walk } from '../../dataset/walk.ts';
import type { Collection } from '../../dataset/dataset.ts';
import type { CursorClaim } from '../../ledger/stored-cursors.ts';
import type { Outcomes, Unserved } from '../../ledger/subjects.ts';
import type { Priority } from '../../budget/priority.ts';
import type { Range } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { CrawlContext } from '../crawl-context.ts';
import type { NetworkWatch } from '../network-guard.ts';
import { unixSeconds } from '../../clock.ts';

/** Lets walks that are under way at the same time take turns. */
export interface WalkTurns {
  /** A request: waits until it is the walk's turn. */
  ask<T>(walk: string, request: () => Promise<T>): Promise<T>;
  /** A search for subjects, which the database has work with. */
  gather<T>(search: () => Promise<T>): Promise<T>;
}

/** For walks of which one is read after the other, as fast as the budget lets it. */
export const noTurns: WalkTurns = { ask: (_, request) => request(), gather: (search) => search() };

/** What is new is looked for again after so long, while a walk is still under way. Milliseconds. */
const RENEWAL_MS = 60_000;

/** Says when a walk that lasts has to look again for what is new. A run that reads everything once has no need to. */
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

/** The name of a walk among all. */
export function nameOf({
  dataset,
  walk,
}: {
  dataset: Pick<Collection, 'name'>;
  walk: Pick<Walk, 'name'>;
}): string {
  return `${dataset.name}/${walk.name}`;
}

/** What all walks of a run have in common. */
export interface RunContext {
  readonly context: CrawlContext;
  /** Name of this process. */
  readonly owner: string;
  readonly choices: Choices;
  /** Collections whose records come with the responses of others. */
  readonly piggybacked: readonly Collection[];
  /** What masterchain blocks and subjects of a range are read for by now; undefined where none was asked for. */
  readonly range: () => Range | undefined;
  /** The first masterchain block of the index. */
  readonly firstSeqno: number;
  readonly priority: Priority;
  readonly stop: Stop;
  readonly turns: WalkTurns;
}

/** What was learned of subjects. */
interface Learned {
  readonly outcomes?: Outcomes | undefined;
  readonly unserved?: Unserved;
}

/** One walk of a run, whose cursor is claimed. */
export interface WalkContext<W extends Walk = Walk> extends RunContext {
  readonly dataset: Collection;
  readonly walk: W;
  /** Since the walk began. */
  readonly network: NetworkWatch;
  readonly claim: CursorClaim;
  /** The cursor as the last commit left it. */
  readonly stored: unknown;
  /** Commits the cursor alone, where nothing else is to be written, with what was learned of subjects. */
  readonly keep: (cursor: object, learned?: Learned) => Promise<void>;
}

/** True as soon as the walk is to end. */
export function isOver({ stop }: RunContext): boolean {
  return stop.finishing.aborted;
}

/** Unix seconds. */
export function nowOf({ context }: RunContext): number {
  return unixSeconds(context.clock);
}
