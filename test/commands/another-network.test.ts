import { sql, type SQL } from 'drizzle-orm';
import { afterAll, beforeAll, expect } from 'vitest';
import * as z from 'zod';
import { openTestStore } from '../support/database/database.ts';
import { openCli, type Cli } from '../support/program/cli.ts';
import { startSimulator } from '../support/simulator/simulator.ts';
import { otherNetwork } from '../support/simulator/other-network.ts';
import { thorough } from '../support/thorough.ts';

let cli: Cli;
beforeAll(async () => {
  cli = await openCli();
});
afterAll(() => cli.close());

thorough(
  'a backfill ends if another network answers meanwhile, and writes nothing of it: exit 2',
  async () => {
    const [start, store] = [Date.UTC(2026, 0, 1) / 1000, await openTestStore()];
    let isForeign = false;
    const simulator = await startSimulator({
      start,
      duration: 1800,
      load: 4,
      faults: { maxLimit: 20 },
      after: otherNetwork(() => isForeign),
    });
    const settings = { DATABASE_URL: store.url, TONCENTER_NETWORK: simulator.url, TONCENTER_RPS: '5' };
    const range = ['--from', String(start), '--to', String(start + 1500)];
    const running = cli.start(['backfill', ...range, '--only', 'blocks,transactions'], settings);
    const Count = z.object({ count: z.number() });
    const count = (where: SQL) =>
      store.database.rows(sql`select count(*)::int as count from ton.blocks where ${where}`, Count);
    await expect.poll(() => count(sql`true`)).not.toEqual([{ count: 0 }]);
    isForeign = true;
    const { code, stderr } = await running.ended;
    expect({ code, stderr }).toMatchObject({ code: 2 });
    expect(stderr).toContain('the database holds the simulated network, the API serves testnet');
    expect(stderr).toContain('hint: Check which server the address of TONCENTER_NETWORK resolves to');
    // It ends at once: it does not wait for its own network.
    expect(stderr).not.toContain('not available, retrying');
    expect(await count(sql`global_id <> -777`)).toEqual([{ count: 0 }]);
    await simulator.close();
    await store.close();
  },
);
