import { sql } from 'drizzle-orm';
import type { Clock } from '../../clock.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Job } from '../../dataset/job.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import type { Database, Session, TransactionHow } from '../../postgres/database.ts';
import { partsOf, type Range, type Stretch, HOUR, common, union } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { ReadRows } from '../../write/seals.ts';
import type { BlocksOfSource } from './block-source.ts';
import type { Finding, NamedRow } from './finding.ts';

export interface VerifyContext {
  readonly database: Database;
  readonly source: BlocksOfSource;
  /** All datasets of the program, chosen or not: they share tables. */
  readonly jobs: readonly Dataset[];
  readonly clock: Clock;
  /** Once it finishes, no check begins, and the statements of the running one are cancelled. */
  readonly stop: Stop;
}

/** One stream of a dataset, and the seconds to check. */
export interface CheckInput {
  readonly dataset: Dataset;
  readonly stream: Stream;
  /** The seconds to check: those in which everything that the check needs is proved. */
  readonly covered: readonly Range[];
  /**
   * The same seconds, with neighbors joined to one stretch: a step for each would read the same rows again and again.
   */
  readonly stretches: readonly Stretch[];
  /** All covered seconds of the stream. */
  readonly coverage: readonly Range[];
}

/** The result of one check of one stretch: what it found, and how many rows it compared. */
export interface Result {
  readonly findings: readonly Finding[];
  readonly rows: number;
  /** The rows of the stretch that the check has read, for each table that it read completely. */
  readonly readRows?: readonly ReadRows[];
}

/**
 * Runs queries on one snapshot. A check calls it once. A check that asks the source does so before and after, because
 * the server would end a transaction that waits.
 */
export type CheckLook = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

/** A check of one stretch of seconds, of which it reads every row. Seconds that are in no step remain unchecked. */
export interface CheckStep {
  readonly check: string;
  /** Another check that runs together with this one. */
  readonly also?: string;
  readonly stretch: Stretch;
  readonly run: (look: CheckLook) => Promise<Result>;
}

/** One way to verify a dataset: a file in `checks/`, under the name that datasets declare. */
export interface Check {
  readonly name: string;
  /** Datasets that must be proved, in the same run, before this check can say anything. */
  readonly needs: readonly string[];
  /** Tables of a dataset of which it must read every row. A table that is in no result was not read. */
  readonly reads: (job: Job) => readonly object[];
  /** If true, seconds in which the datasets of `needs` were never read can have the grade without this check. */
  readonly isOptional?: true;
  steps(context: VerifyContext, input: CheckInput): readonly CheckStep[] | Promise<readonly CheckStep[]>;
  /** Splits a finding by the findings of the other checks: what follows from those says nothing new. */
  unexplained?(finding: Finding, others: readonly Finding[]): readonly Finding[];
}

/** Seconds that a check can say nothing about, and the reason. */
export function openStep(
  check: string,
  { dataset, stream }: Pick<CheckInput, 'dataset' | 'stream'>,
  stretch: Stretch,
  why: Why,
): CheckStep {
  const finding: Finding = {
    check,
    dataset: dataset.name,
    scope: stream.scope,
    kind: why.kind,
    spans: partsOf(stretch),
    count: 1,
    example: why.sentence,
    outcome: why.outcome ?? 'open',
    rows: [],
  };
  return { check, stretch, run: () => Promise.resolve({ findings: [finding], rows: 0 }) };
}

interface Why {
  readonly outcome?: Finding['outcome'];
  readonly kind: string;
  readonly sentence: string;
}

/**
 * How far before a stretch a check reads a table as a whole, to find what the stretch's rows follow from. Nearly every
 * message is received, every block followed and every trace over within minutes. Older rows are looked up one by one,
 * which takes longer if they are many.
 */
export const NEAR = HOUR;

/** Stretches this near to each other are checked together: what a check reads around each would overlap. */
export const JOINED = 2 * NEAR;

/**
 * Settings that make queries over a million rows several times as fast. They give memory to sort and hash, prefer hash
 * joins to sorting long texts, and disable JIT, because each query runs once. Warnings are always reported, whatever
 * the role's default is.
 */
const SETTINGS = sql`select set_config('work_mem', '64MB', true), set_config('enable_mergejoin', 'off', true),
  set_config('jit', 'off', true), set_config('client_min_messages', 'warning', true)`;

/** Prefers hash joins until the check ends: for rows after the last ANALYZE, Postgres would choose nested loops. */
export async function joinByHash(session: Session): Promise<void> {
  await session.run(sql`select set_config('enable_nestloop', 'off', true)`);
}

/** Runs the queries of a check on one snapshot, so that the counted rows are the checked rows. */
export function onFastSnapshot<T>(
  database: Database,
  work: (session: Session) => Promise<T>,
  how: Omit<TransactionHow, 'isSnapshot'> = {},
): Promise<T> {
  return database.transaction(
    async (session) => {
      await session.run(sql`set transaction read only`);
      await session.run(SETTINGS);
      return work(session);
    },
    { ...how, isSnapshot: true },
  );
}

/**
 * Splits off what follows from another finding. It is not read again: it is resolved when the other finding is, and
 * nothing proves it until then. Each thing that the finding names lies in two seconds or more. It may follow if one of
 * `causes` lies between them.
 */
export function splitFollowing(finding: Finding, causes: readonly Range[]): readonly Finding[] {
  const byKey = new Map<string, NamedRow[]>();
  for (const row of finding.rows) byKey.set(row.key, [...(byKey.get(row.key) ?? []), row]);
  // Some of its rows are not named.
  if (byKey.size < finding.count || [...byKey.values()].some((rows) => rows.length < 2)) return [finding];
  const follows = (rows: readonly NamedRow[]) => common([hullOf(rows)], causes).length > 0;
  const part = (outcome: Finding['outcome'], keys: readonly (readonly NamedRow[])[]): Finding[] => {
    const rows = keys.flat();
    const spans = union(rows.map(({ span }) => span));
    return rows.length === 0 ? [] : [{ ...finding, outcome, rows, spans, count: keys.length }];
  };
  const things = [...byKey.values()];
  return [
    ...part(
      finding.outcome,
      things.filter((rows) => !follows(rows)),
    ),
    ...part('follows', things.filter(follows)),
  ];
}

function hullOf(rows: readonly NamedRow[]): Range {
  const spans = rows.map(({ span }) => span);
  return { from: Math.min(...spans.map(({ from }) => from)), to: Math.max(...spans.map(({ to }) => to)) };
}
