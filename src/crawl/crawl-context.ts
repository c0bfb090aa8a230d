import { statfs } from 'node:fs/promises';
import type { ApiClient } from '../api/client.ts';
import type { Clock } from '../clock.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Rejected } from '../dataset/job.ts';
import type { Database } from '../postgres/database.ts';
import type { Partitions } from '../write/target.ts';
import type { Logger } from '../logger.ts';
import type { Range } from '../range.ts';
import type { NetworkGuard } from './source-guard.ts';
import type { Density, LimitTrust, PageSize, LtBounds } from './request-bounds.ts';

/** What was learned about a dataset's pages, shared by all readers of this process. */
export interface Tuning {
  readonly size: PageSize;
  readonly density: Density;
  readonly limits: LimitTrust;
}

/** A committed page. */
export interface PageEvent {
  readonly dataset: string;
  /** The pool or account that the page was read for; empty if the dataset is read as a whole. */
  readonly scope: string;
  readonly records: number;
  /** The records that do not fit their schema, each with the path and the reason. */
  readonly unfit?: readonly Pick<Rejected, 'path' | 'reason'>[];
  /** The seconds that the page completed; undefined if it completed none yet. */
  readonly completed: Range | undefined;
  readonly bytes: number;
  /** From sending the request to the end of its decoded body, without the waits for a memory slot. */
  readonly ms: number;
  /** From the parsed page to its commit. */
  readonly writingMs: number;
}

/** The context with another page listener. */
export function alsoOnPage(context: CrawlContext, listener: (event: PageEvent) => void): CrawlContext {
  const onPage = (event: PageEvent) => {
    listener(event);
    context.onPage(event);
  };
  return { ...context, onPage };
}

/** What every reader of the API needs to write into the database. */
export interface CrawlContext {
  readonly api: ApiClient;
  readonly network: NetworkGuard;
  readonly lts: LtBounds;
  readonly database: Database;
  readonly partitions: Partitions;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Attempts at a commit, or at the API or the database while they are down, before the error is thrown. */
  readonly attempts: number;
  readonly logger: Logger;
  readonly disk: DiskGuard;
  readonly tuning: (dataset: Dataset) => Tuning;
  readonly onPage: (event: PageEvent) => void;
}

/** Milliseconds between two checks of the file system. */
const EVERY = 5000;

/** Lets a page be read only while the disk has room for it. */
interface DiskGuard {
  /**
   * Resolves at once if there is room. Otherwise it logs a warning and resolves when there is. Rejects when aborted.
   */
  wait(signal: AbortSignal): Promise<void>;
  /** True while a reader waits for room. */
  readonly isFull: boolean;
  /** Free bytes, and how many must be free; undefined if the disk belongs to another server. */
  room(): Promise<{ readonly free: number; readonly minFree: number } | undefined>;
}

/** Used if the database is on another server's disk. */
export const noDiskGuard: DiskGuard = {
  wait: () => Promise.resolve(),
  isFull: false,
  room: () => Promise.resolve(undefined),
};

/** Guards the file system of `directory`: nothing is read while fewer than `minFree` bytes are free. */
export function createDiskGuard(directory: string, minFree: number, clock: Clock, logger: Logger): DiskGuard {
  let checked = -Infinity;
  const free = async () => {
    const { bavail, bsize } = await statfs(directory);
    return bavail * bsize;
  };
  let waiting = 0;
  return {
    get isFull() {
      return waiting > 0;
    },
    room: async () => ({ free: await free(), minFree }),
    async wait(signal) {
      if (clock.monotonic() - checked < EVERY) return;
      let isLogged = false;
      for (let left = await free(); left < minFree; left = await free()) {
        if (!isLogged)
          logger.warn(
            { directory, free: left, minFree },
            'disk nearly full, crawl paused; free some space or lower ETL_MIN_FREE',
          );
        isLogged = true;
        waiting += 1;
        await clock.sleep(EVERY, signal).finally(() => (waiting -= 1));
      }
      if (isLogged) logger.info({ directory }, 'disk has room again, crawl resumed');
      checked = clock.monotonic();
    },
  };
}
