import type { ApiClient } from '../api/client.ts';
import type { Clock } from '../clock.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Rejected } from '../dataset/job.ts';
import type { Database } from '../postgres/database.ts';
import type { Partitions } from '../write/partitions.ts';
import type { Logger } from '../logger.ts';
import type { Range } from '../range.ts';
import type { NetworkGuard } from './network-guard.ts';
import type { Density, LimitTrust, PageSize } from './page-size.ts';
import type { DiskGuard } from './disk-guard.ts';
import type { LtBounds } from './lt-bounds.ts';

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
