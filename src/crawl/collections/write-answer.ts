import type { Collection } from '../../dataset/dataset.ts';
import type { Rows } from '../../dataset/job.ts';
import type { AnswerReading } from '../../dataset/walk.ts';
import type { Outcomes } from '../../db/cursors/subjects.ts';
import { commitAnswer, type AnswerCommit } from '../../db/write/commit-answer.ts';
import { commitWithRetry } from '../commit-with-retry.ts';
import type { Answer } from './ask.ts';
import { entriesOf } from './parse-answer.ts';
import type { WalkContext } from './walk-context.ts';

interface Writing {
  readonly answer: Answer;
  readonly reading: AnswerReading;
  readonly cursor: object;
  readonly outcomes?: Outcomes;
}

/** Commits an answer with the cursor behind it, and what came with it of other collections. */
export async function writeAnswer(
  walkContext: WalkContext,
  { answer, reading, cursor, outcomes }: Writing,
): Promise<void> {
  const { context, dataset, claim } = walkContext;
  const piggybacked = walkContext.piggybacked.map((collection) =>
    piggybackedBy(collection, answer, context.clock.now()),
  );
  const commit: AnswerCommit = {
    claim,
    tables: piggybacked.reduce((all, { tables }) => ({ ...all, ...tables }), dataset.job.tables),
    rows: [...reading.fitting.map(({ rows }) => rows), ...piggybacked.flatMap(({ rows }) => rows)],
    rejected: reading.rejected,
    extras: reading.fitting.map(({ extra }) => extra).filter((extra) => Object.keys(extra).length > 0),
    ids: reading.fitting.map(({ id }) => id),
    cursor,
    ...(outcomes !== undefined && { outcomes }),
    piggybacked: piggybacked.map(({ dataset: name, outcomes: of }) => ({ dataset: name, outcomes: of })),
    log: {
      request: `${answer.request.path}?${answer.request.query}`,
      rows: answer.value.records.length,
      bytes: answer.bytes,
      ms: answer.ms,
      apiVersion: answer.apiVersion,
    },
  };
  await commitWithRetry(context, () => commitAnswer(context.database, context.partitions, commit));
  const rows = answer.value.records.length;
  context.logger.debug(
    {
      dataset: dataset.name,
      walk: walkContext.walk.name,
      rows,
      bytes: answer.bytes,
      ms: Math.round(answer.ms),
    },
    'answer committed',
  );
  context.onPage({
    dataset: dataset.name,
    scope: '',
    records: rows,
    completed: undefined,
    bytes: answer.bytes,
    ms: answer.ms,
  });
}

interface Piggybacked {
  readonly dataset: string;
  readonly tables: Collection['job']['tables'];
  readonly rows: readonly Rows[];
  readonly outcomes: Outcomes;
}

/** Records of another collection that came with the answer, read as its first walk reads its own. */
function piggybackedBy({ name, job }: Collection, answer: Answer, now: number): Piggybacked {
  const [walk] = job.walks;
  const map = job.piggybackedAs === undefined ? undefined : answer.value.maps[job.piggybackedAs];
  const records = map === undefined || map === null ? [] : entriesOf(map);
  const fitting = walk?.read(records, { at: new Date(now).toISOString(), key: '' }, 0).fitting ?? [];
  const found = fitting.flatMap(({ raw }) => (walk?.kind === 'lookup' ? (walk.answers(raw) ?? []) : []));
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
