import { z } from 'zod';
import type { Collection } from '../../../dataset/dataset.ts';
import { countRows, type RowCount } from '../../../db/read/count-rows.ts';
import type { Database } from '../../../db/connection/database.ts';
import { countLookups, type LookupCounts } from '../../../db/cursors/subjects.ts';
import type { Status } from '../../../db/read/status.ts';
import { readStandings, type Standing } from '../../../db/cursors/cursor-standings.ts';
import { formatDuration } from '../../../range.ts';
import { formatTable } from '../table.ts';

/** Where a dataset that is no stream of time stands. */
export interface CollectionReport {
  readonly dataset: string;
  readonly rows: readonly RowCount[];
  readonly walks: readonly Standing[];
  readonly lookups: readonly LookupCounts[];
  readonly quarantined: number;
  readonly lastError: Status['failures'][number] | null;
}

/** Of every collection that was ever read. */
export async function reportCollections(
  database: Database,
  collections: readonly Collection[],
  status: Status,
): Promise<CollectionReport[]> {
  const standings = await readStandings(database);
  const lookups = await countLookups(database);
  const reports: CollectionReport[] = [];
  for (const { name, job } of collections) {
    const walks = standings.filter(({ dataset }) => dataset === name);
    const lastError = status.failures.find(({ dataset }) => dataset === name) ?? null;
    const own = lookups.filter(({ dataset }) => dataset === name);
    if (walks.length === 0 && own.length === 0 && lastError === null) continue;
    const rows: RowCount[] = [];
    for (const table of Object.values(job.tables)) rows.push(await countRows(database, table));
    const quarantined = status.quarantined.get(name) ?? 0;
    reports.push({ dataset: name, rows, walks, lookups: own, quarantined, lastError });
  }
  return reports;
}

/** A table of all of them, and a line for each error. `now` in unix seconds. */
export function collectionLines(reports: readonly CollectionReport[], now: number): string[] {
  if (reports.length === 0) return [];
  const rows = reports.map((report) => [
    report.dataset,
    rowsOf(report),
    report.walks.map((walk) => `${walk.scope} ${standingOf(walk, now)}`).join('; '),
    report.lookups.map(lookupText).join('; '),
    String(report.quarantined),
  ]);
  return [
    formatTable(['collection', 'rows', 'read', 'looked up', 'quarantined'], rows),
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

const List = z.object({
  round: z.boolean(),
  at: z.number(),
  ended: z.number().nullable(),
  beyond: z.number().nullable(),
});
const Blocks = z.object({ covered: z.array(z.object({ from: z.number(), to: z.number() })) });

function standingOf({ cursor, owner, updatedAt }: Standing, now: number): string {
  const busy = owner === null ? '' : ', being read';
  const list = List.safeParse(cursor).data;
  if (list !== undefined) {
    if (list.beyond !== null) return `to ${list.beyond}, the rest is beyond reach${busy}`;
    return list.round
      ? `at ${list.at} so far${busy}`
      : `whole ${formatDuration(now - (list.ended ?? now))} ago${busy}`;
  }
  const blocks = Blocks.safeParse(cursor).data;
  if (blocks !== undefined) {
    const count = blocks.covered.reduce((sum, { from, to }) => sum + to - from, 0);
    return `${count} masterchain blocks in ${blocks.covered.length} ranges${busy}`;
  }
  return `${formatDuration(Math.max(0, now - updatedAt))} ago${busy}`;
}

function lookupText({ known, unknown, due }: LookupCounts): string {
  return `${known} known, ${unknown} unknown to the source, ${due} due`;
}
