import type { LookupCounts } from '../../../db/cursors/subjects.ts';
import { formatDuration } from '../../../range.ts';
import { ageOf } from '../../../status/lag.ts';
import type { CollectionReport, WalkReport } from '../../../status/collections.ts';
import { fitTable } from '../table.ts';

/** A table of all of them, and a line for each error. `now` in unix seconds. */
export function collectionLines(reports: readonly CollectionReport[], now: number): string[] {
  if (reports.length === 0) return [];
  const rows = reports.map((report) => [
    report.dataset,
    rowsOf(report),
    String(report.quarantined),
    report.lookups.map(lookupText).join('; '),
    report.walks.map((walk) => walkText(walk, now)).join('; '),
  ]);
  return [
    fitTable(['collection', 'rows', 'quarantined', 'looked up', 'read'], rows, ['looked up', 'quarantined']),
    ...reports.flatMap(({ dataset, lastError }) =>
      lastError === null
        ? []
        : [
            `error     ${dataset}: ${lastError.message} (${lastError.code}, ${formatDuration(now - lastError.at)} ago)`,
          ],
    ),
  ];
}

function rowsOf({ rows }: CollectionReport): string {
  const [own] = rows;
  return own === undefined ? '0' : `${own.exact ? '' : '~'}${own.rows}`;
}

function walkText({ walk, progress, at, beingRead }: WalkReport, now: number): string {
  const age = at === null ? '' : `${formatDuration(ageOf(at, now))} ago`;
  const words = [walk, progress, age].filter((word) => word !== '').join(' ');
  return beingRead ? `${words}, being read` : words;
}

function lookupText({ known, unknown, due }: LookupCounts): string {
  return `${known} known, ${unknown} unknown to the source, ${due} due`;
}
