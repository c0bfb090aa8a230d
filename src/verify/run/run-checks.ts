import { type Range, without } from '../../range.ts';
import type { Check, CheckInput, CheckStep, VerifyContext } from '../check.ts';
import { receipts } from '../checks/receipts.ts';
import { checksOf } from '../every-check.ts';
import type { Checked, Finding } from '../finding.ts';
import { NOT_HELD, runStep } from './run-step.ts';
import { spansOf } from '../finding.ts';

/** Runs every check that a dataset has, on every stretch of it that is covered. */
export async function runChecks(context: VerifyContext, input: CheckInput): Promise<Checked[]> {
  const made: { readonly check: Check; readonly checked: Checked }[] = [];
  for (const check of checksOf(input.dataset.job)) {
    for (const step of await check.steps(context, input))
      made.push(...(await timed(context, input, step)).map((checked) => ({ check, checked })));
  }
  const counted = countedAnew(made.flatMap(({ checked }) => checked.findings));
  const all = made.flatMap(({ checked }) => withoutCounted(checked.findings, counted));
  return made.map(({ check, checked }) => ({
    ...checked,
    findings: withoutCounted(checked.findings, counted).flatMap((finding) => {
      const others = all.filter((other) => other.check !== finding.check);
      return check.unexplained?.(finding, others) ?? [finding];
    }),
  }));
}

/** One entry for each check that the step makes; the time is the first one's. */
async function timed(
  { database, clock, source }: VerifyContext,
  { dataset, stream }: CheckInput,
  step: CheckStep,
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

/** Minutes whose rows do not agree with their receipts. */
function countedAnew(findings: readonly Finding[]): Range[] {
  return spansOf(findings.filter(({ check }) => check === receipts.name));
}

/** What the check of the receipts has found, the others need not say again. */
function withoutCounted(findings: readonly Finding[], counted: readonly Range[]): Finding[] {
  return findings
    .map((finding) =>
      finding.kind === NOT_HELD ? { ...finding, spans: without(finding.spans, counted) } : finding,
    )
    .filter(({ kind, spans }) => kind !== NOT_HELD || spans.length > 0);
}
