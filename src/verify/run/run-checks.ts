import { common, type Range, union, without } from '../../range.ts';
import type { Step, CheckInput, VerifyContext } from '../check.ts';
import { checksOf } from '../every-check.ts';
import type { Checked, Finding } from '../finding.ts';
import { NOT_HELD, runStep } from './run-step.ts';

/** Runs every check that a dataset has, on every stretch of it that is covered. */
export async function runChecks(context: VerifyContext, input: CheckInput): Promise<Checked[]> {
  const checked: Checked[] = [];
  for (const check of checksOf(input.dataset.job)) {
    for (const step of await check.steps(context, input))
      checked.push(...(await timed(context, input, step)));
  }
  return forgiveNeighbours(withoutCounted(checked));
}

/** One entry for each check that the step makes; the time is the first one's. */
async function timed(
  { database, clock, source }: VerifyContext,
  { dataset, stream }: CheckInput,
  step: Step,
): Promise<Checked[]> {
  const { check, also, stretch } = step;
  const [start, asked] = [clock.monotonic(), source.requests()];
  const { findings, rows } = await runStep(database, stream, step);
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

/** Minutes whose rows do not agree with their receipts are found by that check: the others need not say it again. */
function withoutCounted(checks: readonly Checked[]): Checked[] {
  const counted = union(
    ...checks
      .filter(({ check }) => check === 'receipts')
      .flatMap(({ findings }) => findings.map(({ spans }) => spans)),
  );
  return checks.map((check) => ({
    ...check,
    findings: check.findings
      .map((finding) =>
        finding.kind === NOT_HELD ? { ...finding, spans: without(finding.spans, counted) } : finding,
      )
      .filter(({ kind, spans }) => kind !== NOT_HELD || spans.length > 0),
  }));
}

/**
 * Where a transaction is missing, its account's next one has no predecessor. Its own second is known already, so its
 * neighbours need not be read again; and they are all there. The same holds of who received what it sent.
 */
function forgiveNeighbours(checks: readonly Checked[]): Checked[] {
  const holes = union(
    ...checks
      .filter(({ check }) => check !== 'state-chain')
      .flatMap(({ findings }) => findings.map(({ spans }) => spans)),
  );
  if (holes.length === 0) return [...checks];
  const short = union(
    ...checks
      .flatMap(({ findings }) => findings)
      .filter(({ kind }) => kind === 'missing_transactions')
      .map(({ spans }) => spans),
  );
  return checks.map((check) => ({
    ...check,
    findings: check.findings
      .filter(({ kind }) => kind !== 'missing_predecessor')
      .flatMap((finding) => (finding.kind === 'unsent_message' ? forgiveReceivers(finding, short) : finding)),
  }));
}

/** What a missing transaction sent has no sender: that says nothing of whoever received it. */
function forgiveReceivers(finding: Finding, short: readonly Range[]): Finding[] {
  if (finding.rows.length < finding.count) return [finding];
  const explained = new Set(
    finding.rows.filter(({ span }) => common([span], short).length > 0).map(({ key }) => key),
  );
  const rows = finding.rows.filter(({ key }) => !explained.has(key));
  const spans = union(rows.map(({ span }) => span));
  return rows.length === 0 ? [] : [{ ...finding, rows, spans, count: rows.length }];
}
