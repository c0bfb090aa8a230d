import type { Range } from '../range.ts';
import type { OpenTransaction } from '../postgres/database.ts';
import { insertInto, rangeParam } from '../postgres/sql.ts';
import { pages } from '../tables/etl/pages.ts';

/** What is kept of a page that was asked for. */
export interface PageLog {
  /** The seconds in which its rows lie; left out where they lie at no time. */
  readonly span?: Range;
  readonly request: string;
  readonly rows: number;
  readonly bytes: number;
  readonly ms: number;
  readonly apiVersion: string | undefined;
}

/** For whom a page was asked. */
interface Asker {
  readonly dataset: string;
  readonly scope: string;
  readonly pass: number;
  readonly worker: string;
}

/** The longest request that is kept whole, in characters: one for many addresses takes much more. */
const LONGEST_REQUEST = 2000;

/** Adds a committed page to the log; `completed` are the seconds that it completes. */
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
