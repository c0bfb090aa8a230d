import { union } from '../range.ts';
import type { Step, CheckInput, VerifyContext } from './check.ts';
import { checksOf } from './every-check.ts';
import type { Checked } from './finding.ts';

/** Runs every check that a dataset has, on every stretch of it that is covered. */
export async function runChecks(context: VerifyContext, input: CheckInput): Promise<Checked[]> {
  const checked: Checked[] = [];
  for (const check of checksOf(input.dataset.job)) {
    for (const step of await check.steps(context, input))
      checked.push(...(await timed(context, input, step)));
  }
  return forgiveNeighbours(checked);
}

/** One entry for each check that the step makes; the time is the first one's. */
async function timed(
  { clock, source }: VerifyContext,
  { dataset, stream }: CheckInput,
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
