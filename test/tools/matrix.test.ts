import { expect, test } from 'vitest';
import { createDatabase, templateDatabase } from '../support/database/postgres.ts';
import { knownToVerify } from '../../tools/proof/matrix/docs/last-run.ts';
import { runMatrix } from '../../tools/proof/matrix/run-matrix.ts';

test('some values and rows, altered where they are proved: a deep repair sees and heals them, and nothing wrong is verified', async () => {
  const databases = {
    template: templateDatabase,
    clone: (template: string) => createDatabase({ template }),
  };
  const verdicts = await runMatrix(databases, {
    seed: Number(process.env['PROOF_SEED'] ?? 1),
    share: 0.2,
    batches: 2,
    whole: false,
    known: await knownToVerify(),
  });
  expect(verdicts.length).toBeGreaterThan(40);
  expect(verdicts.filter(({ problems }) => problems.length > 0)).toEqual([]);
});
