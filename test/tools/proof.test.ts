import { expect, test } from 'vitest';
import { openTestStore } from '../support/database/database.ts';
import { KINDS } from '../../tools/proof/kinds.ts';
import { proveSeed } from '../../tools/proof/prove-seed.ts';

test.each(Object.keys(KINDS))('%s: found and healed, and nothing wrong is verified', async (kind) => {
  for (
    let seed = Number(process.env['PROOF_FROM'] ?? 1);
    seed < Number(process.env['PROOF_TO'] ?? 2);
    seed += 1
  ) {
    const store = await openTestStore();
    try {
      const outcome = await proveSeed(store, seed, kind, 0.4);
      if (process.env['PROOF_LOG'] !== undefined) console.log(JSON.stringify(outcome));
      expect(outcome).toMatchObject({ found: true, healed: true, falselyVerified: 0 });
    } finally {
      await store.close();
    }
  }
});
