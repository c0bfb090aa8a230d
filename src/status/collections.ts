import * as z from 'zod';
import { Lacking } from '../dataset/paginators/lacking.ts';
import type { Collection } from '../dataset/dataset.ts';
import { walkSeconds } from '../dataset/tail-pace.ts';
import type { Walk } from '../dataset/walk.ts';
import type { Database } from '../postgres/database.ts';
import { readCursors, type CursorState } from '../ledger/stored-cursors.ts';
import type { LookupCounts } from '../ledger/subjects.ts';
import type { RowCount } from '../read/count-rows.ts';
import type { Status } from '../read/stored-status.ts';

/** Where one walk of a collection stands. */
export interface WalkReport {
  readonly walk: string;
  /** What it is, for people. */
  readonly title: string;
  /** How far it is, in words; empty if there is nothing to say but when. */
  readonly progress: string;
  /** Unix seconds at which the source last answered it; null before its first page. */
  readonly at: number | null;
  /** Unix seconds at which a list was last read to its end; null of other walks, and while the first reading lasts. */
  readonly wholeAt: number | null;
  readonly beingRead: boolean;
}

/** A walk that has not been read for longer than so many of its periods, and a while more, is in trouble. */
const LONGEST_AGE = { periods: 3, seconds: 900 };

/** Seconds for which a walk may go without an answer before somebody should look at it. */
export function longestAgeOf(walk: Walk): number {
  return LONGEST_AGE.periods * walkSeconds(walk) + LONGEST_AGE.seconds;
}

/** What a walk is, for people. */
function titleOf({ kind, name }: Pick<Walk, 'kind' | 'name'>): string {
  const words = name.replaceAll('_', ' ');
  switch (kind) {
    case 'list':
      return 'list';
    case 'lookup':
      return name === 'lookup' ? 'look-ups' : `look-ups (${words})`;
    case 'backward':
      return 'history';
    case 'per_block':
      return 'block by block';
    case 'sample':
      return name === 'sample' ? 'sample' : `sample of the ${words}`;
  }
}

/** Where a dataset that is no stream of time stands. */
export interface CollectionReport {
  readonly dataset: string;
  readonly rows: readonly RowCount[];
  readonly walks: readonly WalkReport[];
  readonly lookups: readonly LookupCounts[];
  readonly quarantined: number;
  readonly lastError: Status['failures'][number] | null;
  /** Of each pool or walk that has committed nothing since, newest first. */
  readonly errors: Status['failures'];
}

interface CollectionFacts {
  readonly status: Status;
  readonly lookups: readonly LookupCounts[];
  readonly count: (database: Database, table: object) => Promise<RowCount>;
}

/** Of every collection that somebody has begun to read. */
export async function readCollectionReports(
  database: Database,
  collections: readonly Collection[],
  { status, lookups, count }: CollectionFacts,
): Promise<CollectionReport[]> {
  const standings = await readCursors(database);
  const reports: CollectionReport[] = [];
  for (const { name, job } of collections) {
    const walks = standings
      .filter(({ dataset }) => dataset === name)
      .map((standing) =>
        walkReport(
          standing,
          job.walks.find((walk) => walk.name === standing.scope),
        ),
      );
    const errors = status.failures.filter(({ dataset }) => dataset === name);
    const lastError = errors[0] ?? null;
    const own = lookups.filter(({ dataset }) => dataset === name);
    if (walks.length === 0 && own.length === 0 && lastError === null) continue;
    const rows: RowCount[] = [];
    for (const table of Object.values(job.tables)) rows.push(await count(database, table));
    const quarantined = status.quarantined.get(name) ?? 0;
    reports.push({ dataset: name, rows, walks, lookups: own, quarantined, lastError, errors });
  }
  return reports;
}

const List = z.object({
  round: z.boolean(),
  at: z.number(),
  ended: z.number().nullable(),
  beyond: z.number().nullable(),
  lacking: z.array(Lacking).default([]),
});
const Blocks = z.object({
  lacking: z.array(Lacking).default([]),
  covered: z.array(z.object({ from: z.number(), to: z.number() })),
});

function walkReport({ scope, cursor, owner, updatedAt }: CursorState, walk: Walk | undefined): WalkReport {
  const title = walk === undefined ? scope : titleOf(walk);
  const common = { walk: scope, title, wholeAt: null, beingRead: owner !== null };
  // Whoever claims a walk leaves a row, also where the source then answers nothing. Histories have a cursor for each account.
  if (cursor === null)
    return { ...common, at: null, progress: walk?.kind === 'backward' ? '' : 'not read yet' };
  const list = List.safeParse(cursor).data;
  if (list !== undefined)
    return {
      ...common,
      at: updatedAt,
      wholeAt: list.ended,
      progress: `${listProgress(list)}${lackingText(list.lacking, 'rows')}`.replace(/^, /, ''),
    };
  const blocks = Blocks.safeParse(cursor).data;
  if (blocks === undefined) return { ...common, at: updatedAt, progress: '' };
  const count = blocks.covered.reduce((sum, { from, to }) => sum + to - from, 0);
  const gaps = blocks.covered.length - 1;
  const between = gaps > 0 ? `, ${gaps} ${gaps === 1 ? 'gap' : 'gaps'} between them` : '';
  const progress = `${count} masterchain blocks${between}${lackingText(blocks.lacking, 'blocks')}`;
  return { ...common, at: updatedAt, progress };
}

/** What the server does not serve of it. */
function lackingText(lacking: readonly Lacking[], what: string): string {
  if (lacking.length === 0) return '';
  const shown = lacking.slice(0, SHOWN).map(({ at }) => at);
  return `, but for ${lacking.length} ${what} that are not served (${shown.join(', ')}${lacking.length > SHOWN ? ', …' : ''})`;
}

const SHOWN = 5;

function listProgress({ round, at, ended, beyond }: z.infer<typeof List>): string {
  if (beyond !== null) return `to ${beyond}, the rest is beyond reach`;
  if (!round) return '';
  return ended === null ? `at ${at} so far` : `being read again, at ${at}`;
}
