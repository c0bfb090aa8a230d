import { sql } from 'drizzle-orm';
import { streamsOf } from '../../crawl/streams/streams.ts';
import type { Dataset } from '../../dataset/dataset.ts';
import { ownersOf } from '../../dataset/owners.ts';
import { readCoverage, type Stream } from '../../db/coverage/coverage.ts';
import type { Database, Session } from '../../db/connection/database.ts';
import { factsOf } from '../../db/schema/describe.ts';
import { common, type Range, union, without } from '../../range.ts';
import { checkBlocks } from './blocks.ts';
import { checkAgainstTransactions, isCrossChecked } from './cross-checks.ts';
import type { Checked, Finding } from '../finding.ts';
import { checkMessagesAndBooks } from './messages.ts';
import { checkQuarantine } from './quarantine.ts';
import { checkReceipts } from './receipts.ts';
import { checkStateChain } from './state-chain.ts';
import { checkTraces } from './traces.ts';
import { checkTransactions } from './transactions.ts';
import type { VerifyContext } from '../verify.ts';

/** Traces are looked for in transactions so long after the stretch: later ones belong to the next. */
const AFTERMATH = 3600;

/** Seconds of the datasets that others rest on, as far as they are proved in this run. */
export interface Proved {
  blocks: readonly Range[];
  transactions: readonly Range[];
}

interface Subject {
  readonly dataset: Dataset;
  readonly stream: Stream;
  /** What is to be checked. */
  readonly covered: readonly Range[];
  /** All that is covered of the stream. */
  readonly coverage: readonly Range[];
  readonly proved: Proved;
}

/** A check of one stretch of seconds. */
interface Step {
  readonly check: string;
  /** Another one that it makes in the same go. */
  readonly also?: string;
  readonly stretch: Range;
  readonly run: () => Promise<{ readonly findings: readonly Finding[]; readonly rows: number }>;
}

/** Runs every check that a dataset has, on every stretch of it that is covered. */
export async function runChecks(context: VerifyContext, subject: Subject): Promise<Checked[]> {
  const { dataset, stream, covered } = subject;
  const steps = [
    ...covered.map((stretch): Step => ({
      check: 'quarantine',
      stretch,
      run: () => checkQuarantine(context.database, dataset.name, stream.scope, stretch),
    })),
    ...(await receiptSteps(context, subject)),
    ...(await ownSteps(context, subject)),
  ];
  const checks: Checked[] = [];
  for (const step of steps) checks.push(...(await timed(context, subject, step)));
  return forgiveNeighbours(checks);
}

/** One entry for each check that the step makes; the time is the first one's. */
async function timed(
  { clock, source }: VerifyContext,
  { dataset, stream }: Subject,
  { check, also, stretch, run }: Step,
): Promise<Checked[]> {
  const [start, asked] = [clock.monotonic(), source.requests()];
  const { findings, rows } = await run();
  const names = also === undefined ? [check] : [check, also];
  return names.map((name, index) => ({
    check: name,
    dataset: dataset.name,
    scope: stream.scope,
    span: stretch,
    rows,
    findings: findings.filter((finding) => finding.check === name),
    requests: index === 0 ? source.requests() - asked : 0,
    ms: index === 0 ? clock.monotonic() - start : 0,
  }));
}

/**
 * What makes queries over a million rows several times as quick: room to sort and hash in memory, joins by hash instead
 * of by sorting long texts, and no compiling of queries that each run once.
 */
const SETTINGS = sql`select set_config('work_mem', '64MB', true), set_config('enable_mergejoin', 'off', true),
  set_config('jit', 'off', true)`;

function atSpeed<T>(database: Database, work: (session: Session) => Promise<T>): Promise<T> {
  return database.transaction(async (session) => {
    await session.run(SETTINGS);
    return work(session);
  });
}

/** A table that several datasets fill is held against its receipts where the one that it is for is covered. */
async function receiptSteps({ database, jobs }: VerifyContext, subject: Subject): Promise<Step[]> {
  const { dataset, stream, covered } = subject;
  const steps: Step[] = [];
  for (const [name, table] of Object.entries(dataset.job.tables)) {
    if (!factsOf(table).partitioned) continue;
    const others: Range[] = [];
    for (const owner of ownersOf(name, jobs)) {
      if (owner.name === dataset.name) break;
      for (const other of await streamsOf(database, owner))
        others.push(...(await readCoverage(database, other)));
    }
    for (const stretch of without(covered, others)) {
      const run = () => checkReceipts(database, table, dataset.name, stream.scope, stretch);
      steps.push({ check: 'receipts', stretch, run });
    }
  }
  return steps;
}

async function ownSteps(context: VerifyContext, subject: Subject): Promise<Step[]> {
  switch (subject.dataset.name) {
    case 'blocks':
      return blockSteps(context, subject);
    case 'transactions':
      return transactionSteps(context, subject);
    case 'traces':
      return traceSteps(context, subject);
    default:
      return otherSteps(context, subject);
  }
}

function blockSteps({ database, source }: VerifyContext, { covered, coverage }: Subject): Step[] {
  return covered.map((stretch) => {
    const around = coverage.find(({ from, to }) => from <= stretch.from && to >= stretch.to) ?? stretch;
    return {
      check: 'blocks',
      stretch,
      run: () => checkBlocks(database, source, { stretch, covered: around }),
    };
  });
}

function transactionSteps({ database }: VerifyContext, { dataset, covered, proved }: Subject): Step[] {
  const counted = common(covered, proved.blocks);
  const step =
    (check: string, run: (session: Session, stretch: Range) => ReturnType<Step['run']>, also?: string) =>
    (stretch: Range): Step => ({
      check,
      stretch,
      ...(also !== undefined && { also }),
      run: () => atSpeed(database, (session) => run(session, stretch)),
    });
  return [
    ...counted.map(step('transactions', checkTransactions)),
    ...without(covered, counted).map((stretch) =>
      openStep(dataset, 'transactions', stretch, 'no_proved_blocks'),
    ),
    ...covered.map(step('messages', checkMessagesAndBooks, 'books')),
    ...covered.map(step('state-chain', checkStateChain)),
  ];
}

async function traceSteps(
  { database }: VerifyContext,
  { dataset, covered, proved }: Subject,
): Promise<Step[]> {
  const known = await readCoverage(database, { dataset: 'transactions', scope: '', pass: 0 });
  const held = common(covered, proved.transactions);
  return [
    ...held.map((stretch): Step => {
      const end = known.find(({ from, to }) => from < stretch.to && to >= stretch.to)?.to ?? stretch.to;
      const until = Math.min(end, stretch.to + AFTERMATH);
      const run = () => atSpeed(database, (session) => checkTraces(session, stretch, until));
      return { check: 'traces', stretch, run };
    }),
    ...without(covered, held).map((stretch) =>
      openStep(dataset, 'traces', stretch, 'no_proved_transactions'),
    ),
  ];
}

/** Without a checksum: held against transactions where these are proved, and two readings must agree. */
async function otherSteps(
  { database }: VerifyContext,
  { dataset, stream, covered, proved }: Subject,
): Promise<Step[]> {
  const again = await readCoverage(database, { ...stream, pass: 1 });
  const held = isCrossChecked(dataset.name) ? common(covered, proved.transactions) : [];
  return [
    ...held.map((stretch): Step => ({
      check: 'cross-checks',
      stretch,
      run: () => checkAgainstTransactions(database, dataset.name, stream.scope, stretch),
    })),
    ...without(covered, again).map((stretch) =>
      openStep(dataset, 'second-reading', stretch, 'read_once', stream.scope),
    ),
  ];
}

/** Seconds that nothing can be said about, because what they would be held against is not proved itself. */
function openStep(dataset: Dataset, check: string, stretch: Range, kind: string, scope = ''): Step {
  const finding: Finding = {
    check,
    dataset: dataset.name,
    scope,
    kind,
    spans: [stretch],
    count: 1,
    example: EXPLAINED[kind] ?? kind,
    outcome: 'open',
  };
  return { check, stretch, run: () => Promise.resolve({ findings: [finding], rows: 0 }) };
}

const EXPLAINED: Readonly<Record<string, string>> = {
  no_proved_blocks:
    'the blocks of these seconds are not proved, so nobody knows how many transactions there are',
  no_proved_transactions:
    'the transactions of these seconds are not proved, so nobody knows which traces there are',
  read_once: 'these seconds were read once; the source has no checksum, so a second reading must agree',
};

/**
 * Where a transaction is missing, its account's next one has no predecessor. Its own second is known already, so its
 * neighbours need not be read again; and they are all there.
 */
function forgiveNeighbours(checks: readonly Checked[]): Checked[] {
  const holes = union(
    ...checks
      .filter(({ check }) => check !== 'state-chain')
      .flatMap(({ findings }) => findings.map(({ spans }) => spans)),
  );
  if (holes.length === 0) return [...checks];
  return checks.map((check) => ({
    ...check,
    findings: check.findings.filter(({ kind }) => kind !== 'missing_predecessor'),
  }));
}
