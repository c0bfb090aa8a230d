import * as z from 'zod';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { elsewhere, rowLayoutOf } from '../src/dataset/declaration/record.ts';
import { DAY } from '../src/range.ts';
import { account, optionalAddress, count, digits, freeForm } from '../src/records/members.ts';
import { nominator_pools } from '../src/tables/ton/validators-and-pools.ts';

const nominator = z.strictObject({ address: account, balance: digits, pending_balance: digits });

/** A response of GET /api/v3/staking/nominatorPools/pool, which does not name the pool itself. */
export const nominatorPool = z.strictObject({
  stake_amount_sent: digits,
  validator_amount: digits,
  validator_address: optionalAddress,
  validator_reward_share: count,
  state: count,
  nominators_count: count,
  max_nominators_count: count,
  min_validator_stake: digits,
  min_nominator_stake: digits,
  active_nominators: z.array(nominator).nullish(),
  address_book: elsewhere(freeForm),
});

const rowLayout = rowLayoutOf(nominator_pools, nominatorPool);

export default defineCollection({
  title: 'Nominator pools as they are: stakes, shares, and their nominators with their balances',
  limitations:
    'pools that had no event in what is indexed and that no interface names; what a pool was before',
  tables: { nominator_pools },
  walks: [
    lookup({
      path: '/api/v3/staking/nominatorPools/pool',
      index: 'nominator_pools (address)',
      params: { x_no_address_book: true },
      shape: 'one',
      record: nominatorPool,
      id: [],
      rows: (pool, extra, put, { key }) => put(rowLayout, pool, { address: key }, extra),
      batch: { param: 'pool', most: 1 },
      answers: { key: 'validator_address' },
      refreshSeconds: 3600,
      unknownForSeconds: DAY,
      subjects: {
        // The server answers 404 for a watched account that is not a pool, as if the route were missing.
        watched: false,
        seenIn: [
          { relation: 'ton.nominator_pool_events', key: 'pool_address', lt: 'tx_lt', time: 'utime' },
          { relation: 'ton.nominator_events', key: 'pool_address', lt: 'tx_lt', time: 'utime' },
          { relation: 'etl.seen_pools', key: 'address', time: 'loaded_at' },
        ],
      },
    }),
  ],
});
