import { z } from 'zod';
import type { Exchange } from '../../api/exchange.ts';
import type { AnswerReading, Endpoint, Shape } from '../../dataset/walk.ts';
import type { Collection } from '../../dataset/dataset.ts';
import { commitAnswer, type AnswerCommit } from '../../db/write/commit-answer.ts';
import type { Outcomes } from '../../db/cursors/subjects.ts';
import { BadResponseError } from '../../errors.ts';
import type { Rows } from '../../dataset/job.ts';
import type { Params } from '../../dataset/paginator.ts';
import { commitWithRetry } from '../commit-with-retry.ts';
import type { WalkContext } from './walk-context.ts';

const Body = z.record(z.string(), z.unknown());
const List = z.array(z.unknown());

/** An answer: its records as they came, and what came with them. */
export interface Answered {
  readonly records: readonly unknown[];
  readonly maps: Readonly<Record<string, unknown>>;
}

export type Answer = Exchange<Answered>;

/** Asks the walk's endpoint. `isWhole`: false makes the answer a bad one, which is asked for again. */
export async function ask(
  walkContext: WalkContext,
  params: Params,
  isWhole: (records: readonly unknown[]) => boolean = () => true,
): Promise<Answer> {
  const { context, walk, choices, priority, stop } = walkContext;
  await walkContext.pace();
  await context.disk.wait(stop.finishing);
  const request = {
    params: { ...walk.params(choices), ...params },
    priority,
    signal: stop.leaving,
    parse: (body: unknown): Answered => {
      const records = recordsOf(walk.shape, body);
      if (!isWhole(records)) throw new BadResponseError('the answer was cut short');
      return { records, maps: mapsOf(walk.endpoint, walk.shape, body) };
    },
  };
  return 'path' in walk.endpoint
    ? context.api.get({ ...request, path: walk.endpoint.path })
    : context.api.call({ ...request, method: walk.endpoint.method });
}

function recordsOf(shape: Shape, body: unknown): unknown[] {
  if (shape === 'one') return [body];
  if (shape === 'array') return List.parse(body);
  if (shape === 'map') return entriesOf(body);
  const member = Body.parse(body)[shape.member];
  if (member === undefined) throw new BadResponseError(`the answer has no ${shape.member}`);
  return member === null ? [] : List.parse(member);
}

/** A map's values, each with its key as `address`. */
function entriesOf(map: unknown): unknown[] {
  return Object.entries(Body.parse(map)).map(([address, entry]) => ({ address, ...Body.parse(entry) }));
}

/** What v3 sends beside its records: names and token data of the addresses in them. */
function mapsOf(endpoint: Endpoint, shape: Shape, body: unknown): Readonly<Record<string, unknown>> {
  return 'path' in endpoint && typeof shape === 'object' ? Body.parse(body) : {};
}

interface Writing {
  readonly answer: Answer;
  readonly reading: AnswerReading;
  readonly cursor: object;
  readonly outcomes?: Outcomes;
}

/** Commits an answer with the cursor behind it, and what it carries of other collections. */
export async function write(
  walkContext: WalkContext,
  { answer, reading, cursor, outcomes }: Writing,
): Promise<void> {
  const { context, dataset, claim } = walkContext;
  const carried = walkContext.carried.map((collection) => carriedBy(collection, answer, context.clock.now()));
  const commit: AnswerCommit = {
    claim,
    tables: carried.reduce((all, { tables }) => ({ ...all, ...tables }), dataset.job.tables),
    rows: [...reading.fitting.map(({ rows }) => rows), ...carried.flatMap(({ rows }) => rows)],
    rejected: reading.rejected,
    extras: reading.fitting.map(({ extra }) => extra).filter((extra) => Object.keys(extra).length > 0),
    ids: reading.fitting.map(({ id }) => id),
    cursor,
    ...(outcomes !== undefined && { outcomes }),
    piggybacked: carried.map(({ dataset: name, outcomes: of }) => ({ dataset: name, outcomes: of })),
    log: {
      request: `${answer.request.path}?${answer.request.query}`,
      rows: answer.value.records.length,
      bytes: answer.bytes,
      ms: answer.ms,
      apiVersion: answer.apiVersion,
    },
  };
  await commitWithRetry(context, () => commitAnswer(context.database, context.partitions, commit));
  const records = answer.value.records.length;
  context.logger.debug({ dataset: dataset.name, walk: walkContext.walk.name, records }, 'answer committed');
  context.onPage({
    dataset: dataset.name,
    scope: '',
    records,
    completed: undefined,
    bytes: answer.bytes,
    ms: answer.ms,
  });
}

interface Carried {
  readonly dataset: string;
  readonly tables: Collection['job']['tables'];
  readonly rows: readonly Rows[];
  readonly outcomes: Outcomes;
}

/** Records of another collection that came with the answer, read as its first walk reads its own. */
function carriedBy({ name, job }: Collection, answer: Answer, now: number): Carried {
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

/** Reads an answer's records as the walk says. `key`: what was asked for; `first`: the rank of the first record. */
export function readRecords(walkContext: WalkContext, answer: Answer, key: string, first = 0): AnswerReading {
  const at = new Date(walkContext.context.clock.now()).toISOString();
  return walkContext.walk.read(answer.value.records, { at, key }, first);
}
