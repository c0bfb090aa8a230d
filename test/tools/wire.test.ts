import { expect, test } from 'vitest';
import { createDatabase, templateDatabase } from '../support/database/postgres.ts';
import { runWires } from '../../tools/proof/wire/run-wires.ts';

test('answers that were altered on their way in: nothing wrong is verified, and a deep repair ends as the truth', async () => {
  const databases = {
    template: templateDatabase,
    clone: (template: string) => createDatabase({ template }),
  };
  const first = Number(process.env['PROOF_FROM'] ?? 1);
  const seeds = Number(process.env['PROOF_TO'] ?? first + 1) - first;
  const outcomes = await runWires(databases, { first, seeds });
  expect(outcomes.filter(({ problems }) => problems.length > 0)).toEqual([]);
});
