import { readCoverage } from '../../db/coverage/coverage.ts';
import { without } from '../../range.ts';
import { openStep, type Check } from '../check.ts';

const NAME = 'second-reading';

/** Datasets without a checksum are read a second time, later: seconds that were read once have no grade. */
export const secondReading: Check = {
  name: NAME,
  needs: [],
  async steps({ database }, subject) {
    const again = await readCoverage(database, { ...subject.stream, pass: 1 });
    return without(subject.covered, again).map((stretch) =>
      openStep(NAME, subject, stretch, {
        kind: 'read_once',
        sentence: 'these seconds were read once; the source has no checksum, so a second reading must agree',
      }),
    );
  },
};
