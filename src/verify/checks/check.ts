import type { Clock } from '../../clock.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Job } from '../../dataset/job.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { partsOf, type Range, type Stretch } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { HeldRows } from '../../write/seals.ts';
import type { BlocksOfSource } from './block-source.ts';
import type { Finding } from './finding.ts';

export interface VerifyContext {
  readonly database: Database;
  readonly source: BlocksOfSource;
  /** All datasets that there are, chosen or not: they share tables. */
  readonly jobs: readonly Dataset[];
  readonly clock: Clock;
  /** Once it finishes no check begins, and the statements of the one that runs are cancelled. */
  readonly stop: Stop;
}

/** One stream of a dataset, and what of it is to be checked. */
export interface CheckInput {
  readonly dataset: Dataset;
  readonly stream: Stream;
  /** What is to be checked: seconds of which all is proved that the check needs. */
  readonly covered: readonly Range[];
  /** The same seconds, those near each other as one stretch: a step for each would read the same rows again and again. */
  readonly stretches: readonly Stretch[];
  /** All that is covered of the stream. */
  readonly coverage: readonly Range[];
}

/** What one check of one stretch came to: what it found, and how many rows it held against each other. */
export interface Result {
  readonly findings: readonly Finding[];
  readonly rows: number;
  /** The rows of the stretch that the check has read, of each table that it holds as a whole. */
  readonly held?: readonly HeldRows[];
}

/**
 * Runs queries on one snapshot. A check looks once; one that asks the source does so before and after, because a
 * transaction that waits would be ended by the server.
 */
export type CheckLook = <T>(work: (session: Session) => Promise<T>) => Promise<T>;

/** A check of one stretch of seconds, of which it holds every row: of seconds in no step the check has held none. */
export interface CheckStep {
  readonly check: string;
  /** Another check that is made in the same go. */
  readonly also?: string;
  readonly stretch: Stretch;
  readonly run: (look: CheckLook) => Promise<Result>;
}

/** One way to verify a dataset: a file in `checks/`, named as datasets declare it. */
export interface Check {
  readonly name: string;
  /** Datasets that must be proved, in the same run, before this check can say anything. */
  readonly needs: readonly string[];
  /** Tables of a dataset of which it has to hold every row: of one that no result has, it has held none. */
  readonly holds: (job: Job) => readonly object[];
  /** True: seconds of which these were never read can have the grade without this check. */
  readonly isOptional?: true;
  steps(context: VerifyContext, input: CheckInput): readonly CheckStep[] | Promise<readonly CheckStep[]>;
  /** What is left of one of its findings beside those of the other checks: what follows from them says nothing more. */
  unexplained?(finding: Finding, others: readonly Finding[]): readonly Finding[];
}

/** Seconds that a check can say nothing about, and why. */
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
