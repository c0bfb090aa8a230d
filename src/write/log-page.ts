import type { Range } from '../range.ts';
import type { OpenTransaction } from '../postgres/database.ts';
import { insertInto, rangeParam } from '../postgres/sql.ts';
import { pages } from '../tables/etl/pages.ts';

/** The log entry of a requested page. */
export interface PageLog {
  /** The seconds in which its rows lie; omitted if they have no time. */
  readonly span?: Range;
  readonly request: string;
  readonly rows: number;
  readonly bytes: number;
  readonly ms: number;
  readonly apiVersion: string | undefined;
}

/** What requested the page: a stream, and a worker. */
interface Asker {
  readonly dataset: string;
  readonly scope: string;
  readonly pass: number;
  readonly worker: string;
}

/** Requests are stored up to this number of characters: one for many addresses is much longer. */
const LONGEST_REQUEST = 2000;

/** Adds a committed page to the log, with the seconds that it completes. */
export async function logPage(
  session: OpenTransaction,
  asker: Asker,
  page: PageLog,
  completed?: Range,
): Promise<void> {
  await session.run(
    insertInto(pages, {
      ...asker,
      span: page.span === undefined ? 'empty' : rangeParam(page.span),
      completed: completed && rangeParam(completed),
      request: page.request.slice(0, LONGEST_REQUEST),
      rows: page.rows,
      bytes: page.bytes,
      ms: Math.round(page.ms),
      api_version: page.apiVersion,
      committed_at: session.began,
    }),
  );
}
