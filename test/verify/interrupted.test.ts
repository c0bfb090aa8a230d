import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { readVerified } from '../../src/write/certificates.ts';
import type { Dataset } from '../../src/dataset/dataset.ts';
import { common, type Range, spanOfSecond } from '../../src/range.ts';
import { addWatch } from '../../src/ledger/subjects.ts';
import type { TestStore } from '../support/database/database.ts';
import type { Simulator } from '../support/simulator/simulator.ts';
import { expectProved, openNetworkProof, type Proof } from '../support/verify.ts';

const START = Date.UTC(2026, 6, 1) / 1000;

let store: TestStore;
let proof: Proof;
let pools: Dataset[];
let range: Range;
let close: () => Promise<void>;

beforeAll(async () => {
  const watchPools = async ({ database }: TestStore, { truth }: Simulator) => {
    for (const pool of truth.pools) await addWatch(database, pool, 'a pool');
  };
  ({
    store,
    proof,
    range,
    close,
    datasets: pools,
  } = await openNetworkProof({
    network: { start: START, duration: 720, seed: 26, load: 3, electionSeconds: 120 },
    datasets: ['nominator_pool_events'],
    prepare: watchPools,
  }));
  // A pool is found in the rows of another one.
  for (let round = 0; round < 2; round += 1) await proof.readAgain(pools, range);
  await expectProved(proof, pools, range);
});
afterAll(() => close());
afterEach(() => expectProved(proof, pools, range));

const Event = z.object({ pool: z.string(), second: z.coerce.number() });

/** Removes an event of the pool that is read last. */
async function loseEvent(): Promise<z.infer<typeof Event>> {
  const [event] = await store.database.rows(
    sql`
      with one as (
        select utime, tx_hash, pool_address from ton.nominator_pool_events e
        where utime < to_timestamp(${range.to - 60}) and utime >= to_timestamp(${range.from + 60})
        order by pool_address desc, utime limit 1)
      delete from ton.nominator_pool_events e using one
      where (e.utime, e.tx_hash, e.pool_address) = (one.utime, one.tx_hash, one.pool_address)
      returning e.pool_address as pool, extract(epoch from e.utime)::int8 as second`,
    Event,
  );
  return event!;
}

const certified = ({ pool, second }: z.infer<typeof Event>) =>
  readVerified(store.database, { dataset: 'nominator_pool_events', scope: pool, pass: 0 }).then((verified) =>
    common(verified, [spanOfSecond(second)]),
  );

describe('a lost event of one pool', () => {
  test('is reported even if a repair has come to its end after another pool', async () => {
    const lost = await loseEvent();
    const found = await proof.verify(pools, range);
    await proof.repair(pools, range, found.filter(({ stream }) => stream.scope !== lost.pool).slice(0, 1));
    await proof.verify(pools, range);
    expect(await certified(lost)).toEqual([]);
    await proof.repair(pools, range, await proof.verify(pools, range));
    await proof.readAgain(pools, range);
  });
});
