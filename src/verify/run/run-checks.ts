import { partsOf, type Range, stretchesOf, union, without } from '../../range.ts';
import { openStep, type Check, type CheckInput, type CheckStep, type VerifyContext } from '../check.ts';
import { checksOf } from '../every-check.ts';
import type { Checked } from '../finding.ts';
import { reachOf } from '../ground.ts';
import { JOINED } from '../near.ts';
import { runStep } from './run-step.ts';

/** What is checked of one stream, and on what that rests. */
interface StreamToCheck extends Pick<CheckInput, 'dataset' | 'stream' | 'covered' | 'coverage'> {
  /** Seconds of other datasets that are proved in this run, by name. */
  readonly proved: ReadonlyMap<string, readonly Range[]>;
}

/**
 * Runs every check that a dataset has on every second of it that is covered. Whatever a check did not hold, for whatever
 * reason, it says: a second of which nothing is found was held by every check.
 */
export async function runChecks(context: VerifyContext, input: StreamToCheck): Promise<Checked[]> {
  const made: { readonly check: Check; readonly checked: Checked }[] = [];
  for (const check of checksOf(input.dataset.job)) {
    for (const step of await stepsOf(context, check, input))
      made.push(...(await timed(context, input, step)).map((checked) => ({ check, checked })));
  }
  const all = made.flatMap(({ checked }) => checked.findings);
  return made.map(({ check, checked }) => ({
    ...checked,
    findings: checked.findings.flatMap((finding) => {
      const others = all.filter((other) => other.check !== finding.check);
      return check.unexplained?.(finding, others) ?? [finding];
    }),
  }));
}

/** The steps of a check, and one for each reason why it cannot hold what is left of the covered seconds. */
async function stepsOf(context: VerifyContext, check: Check, input: StreamToCheck): Promise<CheckStep[]> {
  const { jobs } = context;
  const { able, expired, lacking } = await reachOf(context.database, check, { ...input, jobs });
  const steps = await check.steps(context, { ...input, covered: able, stretches: stretchesOf(able, JOINED) });
  const unheld = without(able, union(...steps.map(({ stretch }) => partsOf(stretch))));
  const kind = `no_proved_${check.needs.join('_')}`;
  const needed = `the ${check.needs.join(' and ')} of these seconds`;
  const open = (spans: readonly Range[], why: Parameters<typeof openStep>[3]) =>
    stretchesOf(spans, Infinity).map((stretch) => openStep(check.name, input, stretch, why));
  return [
    ...steps,
    ...open(lacking, {
      kind,
      sentence: `${needed} are not proved, so there is nothing to hold these against`,
    }),
    ...open(expired, {
      kind,
      outcome: 'expired',
      sentence: `retention has dropped ${needed}, or what they rest on`,
    }),
    ...open(unheld, { kind: 'not_checked', sentence: 'the check did not look at these seconds' }),
  ];
}

/** One entry for each check that the step makes; the time is the first one's. */
async function timed(
  { database, clock, source, stop }: VerifyContext,
  { dataset, stream }: Pick<CheckInput, 'dataset' | 'stream'>,
  step: CheckStep,
): Promise<Checked[]> {
  const { check, also, stretch } = step;
  const [start, asked] = [clock.monotonic(), source.requests()];
  const { findings, rows } = await runStep({ database, stop }, stream, step);
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
