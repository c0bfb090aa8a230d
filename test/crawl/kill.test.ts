import { expect, test } from 'vitest';
import { openProof, type Phase } from '../support/kill/proof.ts';

/** One aimed at each phase; a machine that is slow to look may let the crawl end before the last. */
const KILLS = 4;

/** With many more kills in test/long/kill.long.ts. */
test('a crawl that is killed and restarted ends in the same tables as an undisturbed one', async () => {
  const proof = await openProof({
    network: { start: Date.UTC(2026, 5, 1) / 1000, duration: 400, load: 4, accounts: 100 },
    datasets: ['blocks', 'transactions', 'traces', 'actions'],
    page: 20,
  });
  try {
    const phases: Phase[] = [];
    for (let number = 0; number < KILLS; number += 1) {
      const phase = await proof.kill(number);
      expect(await proof.violations()).toEqual([]);
      if (phase === undefined) break;
      phases.push(phase);
    }
    expect(phases.length).toBeGreaterThanOrEqual(2);
    expect(await proof.finish()).toBe(0);
    expect(await proof.digest()).toEqual(await proof.undisturbed());
  } finally {
    await proof.close();
  }
});
