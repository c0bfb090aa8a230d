import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openTestStore } from '../support/database/database.ts';
import { isThorough } from '../support/thorough.ts';
import { createDatabase, templateDatabase } from '../support/database/postgres.ts';
import { KINDS } from '../../tools/proof/kinds.ts';
import { runMatrix } from '../../tools/proof/matrix/run-matrix.ts';
import { proveSeed } from '../../tools/proof/prove-seed.ts';

test('a fault is found and healed, and nothing wrong is verified', async () => {
  const store = await openTestStore();
  try {
    const outcome = await proveSeed(store, 1, 'missing transaction', 0.4);
    expect(outcome).toMatchObject({ injected: 'yes', found: true, healed: true, falselyVerified: 0 });
  } finally {
    await store.close();
  }
});

// Every run of the matrix in CI tests the same rule on many cells.
test.runIf(isThorough)(
  'a cell of the matrix fails if only verify should see it, but only a deep reading does',
  async () => {
    const databases = {
      template: templateDatabase,
      clone: (template: string) => createDatabase({ template }),
    };
    const cell = 'transactions.compute_vm_steps other';
    const options = { seed: 1, share: 1, cells: [cell], whole: false, known: [cell] };
    expect(await runMatrix(databases, options)).toEqual([
      {
        cell,
        seen: { verify: false, deep: true },
        healed: { deepRepair: true },
        problems: ['verify alone sees it no longer'],
      },
    ]);
  },
);

test('the run for a change has every fault once', async () => {
  const script = await readFile(join(import.meta.dirname, '../../.ci/run'), 'utf8');
  const [, seeds] = /^npm run proof -- --seeds (\d+)$/m.exec(script) ?? [];
  expect(Number(seeds)).toBeGreaterThanOrEqual(Object.keys(KINDS).length);
});
