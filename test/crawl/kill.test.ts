import { expect, test } from 'vitest';
import { openProof, type Phase } from '../support/kill/proof.ts';

/** One in each phase. */
const KILLS = 4;

/** With many more kills in test/long/kill.long.ts. */
test('a crawl that is killed and restarted ends in the same tables as an undisturbed one', async () => {
  const proof = await openProof({
    network: { start: Date.UTC(2026, 5, 1) / 1000, duration: 400, load: 4, accounts: 100 },
    datasets: ['blocks', 'transactions', 'traces', 'actions'],
    page: 40,
  });
  try {
    const phases: (Phase | undefined)[] = [];
    for (let number = 0; number < KILLS; number += 1) {
      phases.push(await proof.kill(number));
      expect(await proof.violations()).toEqual([]);
    }
    expect(phases).not.toContain(undefined);
    expect(await proof.finish()).toBe(0);
    expect(await proof.digest()).toEqual(await proof.undisturbed());
  } finally {
    await proof.close();
  }
});
