import type { LookupCounts } from '../../../db/cursors/subjects.ts';
import { formatDuration } from '../../../range.ts';
import { ageOf } from '../../../status/lag.ts';
import type { CollectionReport, WalkReport } from '../../../status/collections.ts';
import { fitTable } from '../table.ts';
import { errorLines, ownRows } from '../summary.ts';

/** A table of all of them, and a line for each error. `now` in unix seconds. */
export function collectionLines(reports: readonly CollectionReport[], now: number): string[] {
  if (reports.length === 0) return [];
  const rows = reports.map((report) => [
    report.dataset,
    ownRows(report.rows),
    String(report.quarantined),
    report.lookups.map(lookupText).join('; '),
    report.walks.map((walk) => walkText(walk, now)).join('; '),
  ]);
  return [
    fitTable(['collection', 'rows', 'quarantined', 'looked up', 'read'], rows, ['looked up', 'quarantined']),
    ...reports.flatMap((report) => errorLines(report, now)),
  ];
}

function walkText({ title, progress, at, wholeAt, beingRead }: WalkReport, now: number): string {
  const ago = (time: number) => `${formatDuration(ageOf(time, now))} ago`;
  const words = [
    progress,
    wholeAt === null ? '' : `whole ${ago(wholeAt)}`,
    at === null ? '' : `last read ${ago(at)}`,
    beingRead ? 'being read' : '',
  ].filter((word) => word !== '');
  return `${title}: ${words.join(', ')}`;
}

function lookupText({ known, unknown, unserved, due }: LookupCounts): string {
  const failing = unserved === 0 ? '' : `, ${unserved} not served`;
  return `${known} known, ${unknown} unknown to the source${failing}, ${due} due`;
}
