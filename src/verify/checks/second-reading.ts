import type { Dataset } from '../../dataset/dataset.ts';
import { dueAt, readCoverage, readRefused } from '../../ledger/stored-coverage.ts';
import { common, formatTime, type Stretch, stretchesOf, without } from '../../range.ts';
import { openStep, type Check, type CheckStep } from './check.ts';

export const SECOND_READING = 'second-reading';

/** True if a second of the dataset has its grade only after a second reading has confirmed it. */
export function isReadTwice({ job }: Dataset): boolean {
  return SECOND_READING in job.checks;
}

/** Datasets without a checksum are read a second time, later. Seconds that were read once have no grade. */
export const secondReading: Check = {
  name: SECOND_READING,
  needs: [],
  reads: () => [],
  async steps({ database }, input) {
    const second = { ...input.stream, pass: 1 };
    const twice = common(input.covered, await readCoverage(database, second));
    const once = without(input.covered, twice);
    const confirmed = stretchesOf(twice, Infinity).map((stretch) => confirmedStep(stretch));
    if (once.length === 0) return confirmed;
    const refused = await readRefused(database, second, 'changed');
    const changed = common(
      once,
      refused.map(({ span }) => span),
    );
    const latest = refused.map(({ retryAt }) => retryAt).sort((a, b) => b - a)[0];
    const { maturitySeconds = 0 } = input.dataset.job;
    const first = await dueAt(database, input.stream, once, maturitySeconds);
    const step = (kind: string, sentence: string) => (stretch: Stretch) =>
      openStep(SECOND_READING, input, stretch, { kind, sentence });
    return [
      ...confirmed,
      ...stretchesOf(without(once, changed), Infinity).map(
        step('read_once', `the source has no checksum, so a second reading must agree${fromOn(first)}`),
      ),
      ...stretchesOf(changed, Infinity).map(
        step(
          'read_differently',
          `two readings differ; another must agree with the newer one${fromOn(latest)}`,
        ),
      ),
    ];
  },
};

/** The reading itself compared the rows; certificates check again whether it is still confirmed. */
function confirmedStep(stretch: Stretch): CheckStep {
  return { check: SECOND_READING, stretch, run: () => Promise.resolve({ findings: [], rows: 0 }) };
}

function fromOn(at: number | undefined): string {
  return at === undefined ? '' : `, from ${formatTime(at)} on: sync makes it, or backfill --again`;
}
