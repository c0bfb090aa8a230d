import { loggedOf, type Exchange } from '../../../api/exchange.ts';
import type { Stream } from '../../../ledger/stored-coverage.ts';
import type { Again, PageCommit } from '../../../write/commit.ts';
import type { PageLog } from '../../../write/log-page.ts';
import type { Lease } from '../../../ledger/leases.ts';
import type { Job } from '../../../dataset/job.ts';
import type { Refusal } from '../../../ledger/refused.ts';
import { type Range, spanOfSecond } from '../../../range.ts';
import type { PageRead } from './ask-page.ts';
import { contentOf, inside, type Content, type Inside } from './read-page.ts';
import type { Assignment } from '../planner.ts';
import { scopeOf } from '../../../dataset/scope.ts';

/** A page that was read and waits for its commit, without its raw records. */
export type FetchedPage = Exchange<Pick<PageRead, 'reading' | 'step' | 'content'>>;

/**
 * True if rows wait until their second is whole. They replace the stored rows of that second, or are compared
 * with them in a second reading.
 */
export function needsWholeSeconds({ dataset, stream }: Pick<Assignment, 'dataset' | 'stream'>): boolean {
  return dataset.job.replacesRows || stream.pass > 0;
}

/** The commit of pages that belong together: one page, or all pages of a second that is written as a whole. */
export function toCommit(
  { dataset, stream, priority }: Assignment,
  lease: Lease,
  pages: readonly FetchedPage[],
): PageCommit {
  const step = pages.at(-1)?.value.step;
  const isAgain = stream.pass > 0;
  return {
    lease,
    ...contentOfAll(dataset.job, pages, { compared: isAgain }),
    done: step && doneOf(step),
    ...(isAgain && { again: againOf(dataset.job, stream) }),
    replace: dataset.job.replacesRows,
    overwrite: priority === 'repair' || isAgain,
    pages: pages.map((page) => logOf(page, lease.span)),
  };
}

/** The rows of one page are known with the page; the rows of several pages, when the last one is there. */
function contentOfAll(
  { tables }: Job,
  pages: readonly FetchedPage[],
  how: { readonly compared: boolean },
): Content {
  const [first] = pages;
  if (first?.value.content !== undefined) return first.value.content;
  const readings = pages.map(({ value }) => value.reading);
  return contentOf(tables, inside(readings, pages.at(-1)?.value.step.completed), how);
}

function doneOf({ completed, saturated }: PageRead['step']): PageCommit['done'] {
  if (completed !== undefined) return { span: completed, outcome: 'covered' };
  return saturated && { span: saturated, outcome: 'refused', why: SATURATED };
}

const SATURATED: Refusal = {
  reason: 'saturated',
  detail: 'more rows of one logical time than the source can page through',
};

/** The pages of a second that was requested row by row. */
interface PagesOfSecond {
  readonly second: Range;
  readonly pages: readonly FetchedPage[];
  /** Why the second is not covered; undefined if the pages hold all of it. */
  readonly why: Refusal | undefined;
}

/** The commit of a second that the server does not serve as a whole. */
export function toCommitOfSecond(
  assignment: Assignment,
  lease: Lease,
  { second, pages, why }: PagesOfSecond,
): PageCommit {
  const { dataset, stream } = assignment;
  const reading = inside(
    pages.map(({ value }) => value.reading),
    second,
  );
  const { again, ...commit } = toCommit(assignment, lease, pages);
  if (why === undefined) {
    const content = contentOf(dataset.job.tables, reading, { compared: stream.pass > 0 });
    return { ...commit, ...(again && { again }), ...content, done: { span: second, outcome: 'covered' } };
  }
  // A second reading is compared with the stored rows, so a part of it proves nothing. Pages may overlap.
  const accepted = stream.pass > 0 ? [] : uniqueOf(reading.accepted);
  const content = contentOf(dataset.job.tables, { ...reading, accepted }, { compared: false });
  return { ...commit, ...content, done: { span: second, outcome: 'refused', why } };
}

function uniqueOf(accepted: Inside['accepted']): Inside['accepted'] {
  return [...new Map(accepted.map((record) => [record.position.id, record])).values()];
}

/** The scope of a second reading, and the pause before the next one. */
function againOf(job: Job, stream: Stream): Again {
  return { scope: scopeOf(job, stream), pauseSeconds: job.maturitySeconds ?? 0 };
}

function logOf(page: FetchedPage, lease: Range): PageLog {
  const { positions } = page.value.reading;
  const times = positions.map(({ utime }) => utime);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const span = positions.length === 0 ? spanOfSecond(lease.from) : { from: first, to: last + 1 };
  return { span, rows: positions.length, ...loggedOf(page) };
}
