import * as z from 'zod';
import { Lacking } from '../dataset/paginators/paginator.ts';
import type { Collection } from '../dataset/dataset.ts';
import { walkSeconds } from '../crawl/tail-pace.ts';
import type { Walk } from '../dataset/collection.ts';
import type { Database } from '../postgres/database.ts';
import { readCursors, type CursorState } from '../ledger/stored-cursors.ts';
import type { LookupCounts } from '../ledger/subjects.ts';
import type { RowCount } from '../read/row-estimates.ts';
import type { Status } from '../read/stored-status.ts';
import type { Table } from '../dataset/declaration/record.ts';

export interface WalkReport {
  readonly walk: string;
  readonly title: string;
  /** The progress, in words; empty if the times say everything. */
  readonly progress: string;
  /** Unix seconds at which the source last answered; null before the first page. */
  readonly at: number | null;
  /** Unix seconds at which a list was last read to its end; null for other walks, and before the first reading has ended. */
  readonly wholeAt: number | null;
  readonly beingRead: boolean;
}

/** A walk is overdue if it was not read for this many of its periods plus these seconds. */
const LONGEST_AGE = { periods: 3, seconds: 900 };

/** Seconds after which a walk without an answer is overdue. */
export function longestAgeOf(walk: Walk): number {
  return LONGEST_AGE.periods * walkSeconds(walk) + LONGEST_AGE.seconds;
}

/** The title of a walk, for people; `scope` if this version has no such walk. */
export function titleOf(walk: Walk | undefined, scope = ''): string {
  if (walk === undefined) return scope;
  const { kind, name } = walk;
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

/** The state of a collection: a dataset that is not a stream of time. */
export interface CollectionReport {
  readonly dataset: string;
  readonly rows: readonly RowCount[];
  readonly walks: readonly WalkReport[];
  readonly lookups: readonly LookupCounts[];
  readonly quarantined: number;
  readonly lastError: Status['failures'][number] | null;
  /** The last error of each pool or walk that has committed nothing since, newest first. */
  readonly errors: Status['failures'];
}

interface CollectionFacts {
  readonly status: Status;
  readonly lookups: readonly LookupCounts[];
  readonly count: (database: Database, table: Table) => Promise<RowCount>;
}

/** Reports on each collection of which anything was read or looked up, or that failed. */
export async function readCollectionReports(
  database: Database,
  collections: readonly Collection[],
  { status, lookups, count }: CollectionFacts,
): Promise<CollectionReport[]> {
  const cursors = await readCursors(database);
  const reports: CollectionReport[] = [];
  for (const { name, job } of collections) {
    const walkOf = (scope: string) => job.walks.find((walk) => walk.name === scope);
    const walks = cursors
      .filter(({ dataset }) => dataset === name)
      .map((position) => walkReport(position, walkOf(position.scope)));
    const errors = status.failures
      .filter(({ dataset }) => dataset === name)
      .map((failure) => ({ ...failure, scope: titleOf(walkOf(failure.scope), failure.scope) }));
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
  const common = { walk: scope, title: titleOf(walk, scope), wholeAt: null, beingRead: owner !== null };
  // Claiming a walk leaves a row without a cursor, even if the source then answers nothing. A history has a cursor
  // for each account.
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

/** Names the rows or blocks that the server does not serve. */
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
