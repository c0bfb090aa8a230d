import type { Clock } from '../../clock.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import type { Job } from '../../dataset/job.ts';
import type { Stream } from '../../ledger/stored-coverage.ts';
import type { Database, Session } from '../../postgres/database.ts';
import { partsOf, type Range, type Stretch } from '../../range.ts';
import type { Stop } from '../../stop.ts';
import type { ReadRows } from '../../write/seals.ts';
import type { BlocksOfSource } from './block-source.ts';
import type { Finding } from './finding.ts';

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
