import { expect, test } from 'vitest';
import { openProof } from '../support/kill/proof.ts';

const KILLS = Number(process.env['KILLS'] ?? 72);

test(`${KILLS} kills at any moment: the same tables as without kills, and never coverage without its rows`, async () => {
  const proof = await openProof({
    network: { start: Date.UTC(2026, 5, 1) / 1000, duration: 4 * 3600, load: 4, accounts: 400 },
    datasets: ['blocks', 'transactions', 'traces', 'actions', 'jetton_transfers'],
    page: 40,
  });
  try {
    const phases: Record<string, number> = {};
    for (let number = 0; number < KILLS; number += 1) {
      const phase = await proof.kill(number);
      expect(phase, `kill ${number} came after the end`).toBeDefined();
      phases[phase ?? ''] = (phases[phase ?? ''] ?? 0) + 1;
      expect(await proof.violations()).toEqual([]);
    }
    console.log('kills by phase', phases);
    for (const phase of ['fetch', 'between statements', 'commit'])
      expect(phases[phase], phase).toBeGreaterThanOrEqual(Math.floor(KILLS / 7));
    expect(await proof.finish()).toBe(0);
    expect(await proof.violations()).toEqual([]);
    expect(await proof.digest()).toEqual(await proof.undisturbed());
  } finally {
    await proof.close();
  }
}, 1_200_000);
