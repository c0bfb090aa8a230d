import { streamsOf } from '../crawl/streams/streams.ts';
import type { Dataset } from '../dataset/dataset.ts';
import { ownersOf } from '../dataset/owners.ts';
import { readCoverage, type Stream } from '../db/coverage/coverage.ts';
import type { Database } from '../db/connection/database.ts';
import { openHoles } from '../db/coverage/reopen.ts';
import { common, type Range, union, without } from '../range.ts';
import { withdrawFallen } from './ground.ts';
import { checkReceipts } from './checks/receipts.ts';
import { spansOf } from './finding.ts';
import { wholeMinutes } from '../db/write/receipt-ledger.ts';

/** Seconds of chain time that are counted at once: a moment's work for Postgres. */
const CHUNK = 6 * 3600;

interface VanishedContext {
  readonly database: Database;
  /** All datasets that there are, chosen or not: they share tables. */
  readonly jobs: readonly Dataset[];
  /** Ends the search between two chunks. */
  readonly signal: AbortSignal;
}

/** Covered seconds of a dataset whose rows are gone; they are holes now. */
export interface Vanished {
  readonly dataset: string;
  readonly scope: string;
  readonly spans: readonly Range[];
}

/**
 * Holds a stretch of a table against the receipts of what was written there, the newest first, and takes the minutes
 * from which rows have vanished out of coverage, so that they count as holes and are read again.
 */
export async function openVanished(
  context: VanishedContext,
  tableName: string,
  stretch: Range,
): Promise<Vanished[]> {
  const found: Vanished[] = [];
  for (const owner of ownersOf(tableName, context.jobs)) {
    const table = owner.job.tables[tableName];
    if (table === undefined) continue;
    const streams: [Stream, Range[]][] = [];
    for (const stream of await streamsOf(context.database, owner))
      streams.push([stream, common([stretch], await readCoverage(context.database, stream))]);
    for (const chunk of chunksOf(streams.flatMap(([, covered]) => covered))) {
      if (context.signal.aborted) return found;
      const { findings } = await checkReceipts(
        context.database,
        table,
        { dataset: owner.name, scope: '' },
        wholeMinutes(chunk),
      );
      const gone = spansOf(findings.filter(({ outcome }) => outcome === 'hole'));
      // Receipts do not say which pool's rows they are: all pools are read again. Once they are set anew they say
      // nothing of any pool, so that all of them are opened at once.
      const openings = streams
        .map(([stream, covered]) => ({ stream, holes: common(gone, covered) }))
        .filter(({ holes }) => holes.length > 0)
        .map((opening) => ({
          ...opening,
          surplus: [],
          receipts: opening.holes.map((span) => ({ table, span })),
        }));
      if (openings.length > 0) await openHoles(context.database, ...openings);
      for (const { stream, holes } of openings) {
        await withdrawFallen(context, holes);
        found.push({ dataset: owner.name, scope: stream.scope, spans: holes });
      }
    }
  }
  return found;
}

/** The newest first. */
function chunksOf(ranges: readonly Range[]): Range[] {
  const chunks: Range[] = [];
  for (let rest = union(ranges); rest.length > 0;) {
    const last = rest.at(-1) ?? { from: 0, to: 0 };
    const chunk = { from: Math.max(last.from, last.to - CHUNK), to: last.to };
    chunks.push(chunk);
    rest = without(rest, [chunk]);
  }
  return chunks;
}
