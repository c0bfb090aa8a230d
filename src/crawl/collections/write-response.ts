import type { Collection } from '../../dataset/dataset.ts';
import type { Rows } from '../../dataset/declaration/row-layout.ts';
import type { ResponseReading } from '../../dataset/walk.ts';
import type { Outcomes } from '../../ledger/subjects.ts';
import { commitResponse, type ResponseCommit } from '../../write/commit.ts';
import { commitWithRetry } from '../failure-policy.ts';
import { type WalkResponse, entriesOf } from './ask.ts';
import type { WalkContext } from './walk-context.ts';
import { loggedOf } from '../../api/exchange.ts';
import { extrasOf } from '../streams/page.ts';

interface ResponseToWrite {
  readonly response: WalkResponse;
  readonly reading: ResponseReading;
  readonly cursor: object;
  readonly outcomes?: Outcomes;
}

/** Commits a response with the cursor after it, and the records of other collections that came with it. */
export async function writeResponse(
  walkContext: WalkContext,
  { response, reading, cursor, outcomes }: ResponseToWrite,
): Promise<void> {
  const { context, dataset, claim } = walkContext;
  const piggybacked = walkContext.piggybacked.map((collection) => piggybackedBy(collection, response));
  const commit: ResponseCommit = {
    claim,
    tables: piggybacked.reduce((all, { tables }) => ({ ...all, ...tables }), dataset.job.tables),
    rows: [...reading.fitting.map(({ rows }) => rows), ...piggybacked.flatMap(({ rows }) => rows)],
    rejected: reading.rejected,
    extras: extrasOf(reading.fitting),
    ids: reading.fitting.map(({ id }) => id),
    cursor,
    ...(outcomes !== undefined && { outcomes }),
    piggybacked: piggybacked.map(({ dataset: name, outcomes: of }) => ({ dataset: name, outcomes: of })),
    log: { rows: response.value.records.length, ...loggedOf(response) },
  };
  const began = context.clock.monotonic();
  await commitWithRetry(context, walkContext.network, () =>
    commitResponse(context.database, context.partitions, commit),
  );
  const rows = response.value.records.length;
  context.logger.debug(
    {
      dataset: dataset.name,
      walk: walkContext.walk.name,
      rows,
      bytes: response.bytes,
      ms: Math.round(response.ms),
    },
    'response committed',
  );
  context.onPage({
    dataset: dataset.name,
    scope: '',
    records: rows,
    unfit: reading.rejected,
    completed: undefined,
    bytes: response.bytes,
    ms: response.ms,
    writingMs: context.clock.monotonic() - began,
  });
}

interface Piggybacked {
  readonly dataset: string;
  readonly tables: Collection['job']['tables'];
  readonly rows: readonly Rows[];
  readonly outcomes: Outcomes;
}

/** Records of another collection that came with the response, read by the rules of its first walk. */
function piggybackedBy({ name, job }: Collection, response: WalkResponse): Piggybacked {
  const [walk] = job.walks;
  const { maps, at } = response.value;
  const map = job.piggybackedAs === undefined ? undefined : maps[job.piggybackedAs];
  const records = map === undefined || map === null ? [] : entriesOf(map);
  const fitting = walk?.read(records, { at, key: '' }, 0).fitting ?? [];
  const found = fitting.flatMap(({ canonical }) =>
    walk?.kind === 'lookup' ? (walk.answers(canonical) ?? []) : [],
  );
  return {
    dataset: name,
    tables: job.tables,
    rows: fitting.map(({ rows }) => rows),
    outcomes: {
      walk: walk?.name ?? '',
      asked: found.map(({ key }) => key),
      found,
      refresh: walk?.kind === 'lookup' ? walk.refreshSeconds : undefined,
      unknownFor: 0,
    },
  };
}
