import { readCoverage } from '../../db/coverage/coverage.ts';
import { without } from '../../range.ts';
import { openStep, type Check } from '../check.ts';

const NAME = 'second-reading';

/** Datasets without a checksum are read a second time, later: seconds that were read once have no grade. */
export const secondReading: Check = {
  name: NAME,
  needs: [],
  async steps({ database }, input) {
    const again = await readCoverage(database, { ...input.stream, pass: 1 });
    return without(input.covered, again).map((stretch) =>
      openStep(NAME, input, stretch, {
        kind: 'read_once',
        sentence: 'these seconds were read once; the source has no checksum, so a second reading must agree',
      }),
    );
  },
};
