import type { Exchange } from '../../../api/exchange.ts';
import type { Stream } from '../../../db/coverage/coverage.ts';
import { linesOfRecords } from '../../../db/write/rows/lines.ts';
import type { Again, PageCommit } from '../../../db/write/commit.ts';
import type { PageLog } from '../../../db/write/log-page.ts';
import type { Lease } from '../../../db/coordination/leases.ts';
import type { Job, Reading } from '../../../dataset/job.ts';
import type { Range } from '../../../range.ts';
import type { Page } from './ask-page.ts';
import type { Assignment } from '../planner.ts';

/** A page that was read, as it waits for its commit: without the records as they came. */
export type FetchedPage = Exchange<Pick<Page, 'reading' | 'step'>>;

/**
 * True where rows wait until their second is whole: they replace what is stored of it, or are held against it, because
 * it is read a second time.
 */
export function needsWholeSeconds({ dataset, stream }: Pick<Assignment, 'dataset' | 'stream'>): boolean {
  return dataset.job.replacesRows || stream.pass > 0;
}

/** What is to be written of pages that belong together: one, or all of a second that is written as a whole. */
export function toCommit(
  { dataset, stream, priority }: Assignment,
  lease: Lease,
  pages: readonly FetchedPage[],
): PageCommit {
  const step = pages.at(-1)?.value.step;
  const isAgain = stream.pass > 0;
  const span = needsWholeSeconds({ dataset, stream }) ? step?.completed : lease.span;
  const readings = pages.map(({ value }) => within(value.reading, span));
  const accepted = readings.flatMap((reading) => reading.accepted);
  return {
    lease,
    rows: linesOfRecords(dataset.job.tables, accepted),
    ids: accepted.map(({ position }) => position.id),
    extras: accepted.map(({ extra }) => extra).filter((extra) => Object.keys(extra).length > 0),
    rejected: readings.flatMap(({ rejected }) => rejected),
    done: step && doneOf(step),
    ...(isAgain && { again: againOf(dataset.job, stream) }),
    replace: dataset.job.replacesRows,
    overwrite: priority === 'repair' || isAgain,
    pages: pages.map((page) => logOf(page, lease.span)),
  };
}

function doneOf({ completed, saturated }: Page['step']): PageCommit['done'] {
  if (completed !== undefined) return { span: completed, outcome: 'covered' };
  return saturated && { span: saturated, outcome: 'saturated' };
}

/** What a second reading is held against, and when another can follow. */
function againOf({ scopes, maturitySeconds = 0 }: Job, { scope }: Stream): Again {
  return {
    scope: scopes && { column: scopes.column, value: scope },
    pauseSeconds: maturitySeconds,
  };
}

/**
 * What of a page lies in the seconds that are exchanged, or in the lease: a page that looks ahead for successors ends
 * beyond it, anywhere, and what the tables hold must not depend on where pages end. The rest is read with its own second.
 */
function within(reading: Reading, span: Range | undefined): Reading {
  const inside = ({ position }: { readonly position: { readonly utime: number } }) =>
    span !== undefined && position.utime >= span.from && position.utime < span.to;
  return { ...reading, accepted: reading.accepted.filter(inside), rejected: reading.rejected.filter(inside) };
}

function logOf({ value, request, bytes, ms, apiVersion }: FetchedPage, lease: Range): PageLog {
  const { positions } = value.reading;
  const times = positions.map(({ utime }) => utime);
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const span =
    positions.length === 0 ? { from: lease.from, to: lease.from + 1 } : { from: first, to: last + 1 };
  return { span, request: `${request.path}?${request.query}`, rows: positions.length, bytes, ms, apiVersion };
}
