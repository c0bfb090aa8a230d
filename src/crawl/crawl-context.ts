import type { ApiClient } from '../api/client.ts';
import type { Clock } from '../clock.ts';
import type { Dataset } from '../dataset/dataset.ts';
import type { Rejected } from '../dataset/job.ts';
import type { Database } from '../postgres/database.ts';
import type { Partitions } from '../write/partitions.ts';
import type { Logger } from '../logger.ts';
import type { Range } from '../range.ts';
import type { NetworkGuard } from './network-guard.ts';
import type { Density } from './density.ts';
import type { DiskGuard } from './disk-guard.ts';
import type { LimitTrust } from './limit-trust.ts';
import type { LtBounds } from './lt-bounds.ts';
import type { PageSize } from './page-size.ts';

/** What was learned of a dataset's pages, shared by all that read it in this process. */
export interface Tuning {
  readonly size: PageSize;
  readonly density: Density;
  readonly limits: LimitTrust;
}

/** A page that was committed. */
export interface PageEvent {
  readonly dataset: string;
  /** The pool or account that it was read for; empty where a dataset is read as a whole. */
  readonly scope: string;
  readonly records: number;
  /** Those of them that do not fit their schema, each with the path and the reason. */
  readonly unfit?: readonly Pick<Rejected, 'path' | 'reason'>[];
  /** What the page completed; undefined where it completed nothing yet. */
  readonly completed: Range | undefined;
  readonly bytes: number;
  /** From sending the request to the end of its body, decoded, without its waits for a place in memory. */
  readonly ms: number;
  /** From when the page was parsed to its commit. */
  readonly writingMs: number;
}

/** The context with one more listener to its pages. */
export function alsoOnPage(context: CrawlContext, listener: (event: PageEvent) => void): CrawlContext {
  const onPage = (event: PageEvent) => {
    listener(event);
    context.onPage(event);
  };
  return { ...context, onPage };
}

/** What every reading of the API into the database works with. */
export interface CrawlContext {
  readonly api: ApiClient;
  readonly network: NetworkGuard;
  readonly lts: LtBounds;
  readonly database: Database;
  readonly partitions: Partitions;
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Attempts at a commit, or at the API or the database where they are away, before the error is thrown. */
  readonly attempts: number;
  readonly logger: Logger;
  readonly disk: DiskGuard;
  readonly tuning: (dataset: Dataset) => Tuning;
  readonly onPage: (event: PageEvent) => void;
}
