import { expect, test } from 'vitest';
import { createDatabase, templateDatabase } from '../support/postgres.ts';
import { knownToVerify } from '../../tools/proof/matrix/last-run.ts';
import { runMatrix } from '../../tools/proof/matrix/run-matrix.ts';

test('a tenth of all values and rows, altered where they are proved: a deep repair sees and heals them, and nothing wrong is verified', async () => {
  const databases = {
    template: templateDatabase,
    clone: (template: string) => createDatabase({ template }),
  };
  const verdicts = await runMatrix(databases, {
    seed: Number(process.env['PROOF_SEED'] ?? 1),
    share: Number(process.env['PROOF_SHARE'] ?? 0.1),
    whole: false,
    sure: false,
    known: await knownToVerify(),
  });
  expect(verdicts.length).toBeGreaterThan(50);
  expect(verdicts.filter(({ problems }) => problems.length > 0)).toEqual([]);
}, 180_000);
