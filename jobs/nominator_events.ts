import * as z from 'zod';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { defineJob } from '../src/dataset/job.ts';
import { poolEvents } from '../src/records/staking.ts';
import { account, hash, digits, flag, requiredInt64, requiredSeconds } from '../src/records/members.ts';
import { nominator_events } from '../src/tables/ton/validators-and-pools.ts';

/** One element of `events` of GET /api/v3/staking/nominatorPools/nominatorEvents: a change of a nominator's money. */
export const nominatorEvent = z.strictObject({
  tx_hash: hash,
  tx_lt: requiredInt64,
  utime: requiredSeconds,
  pool_address: account,
  nominator_address: account,
  type: z.string(),
  amount: digits,
  balance_delta: digits,
  pending_balance_delta: digits,
  balance_before: digits,
  balance_after: digits,
  pending_balance_before: digits,
  pending_balance_after: digits,
  withdraw_request_before: flag,
  withdraw_request_after: flag,
});

export default defineJob({
  ...poolEvents,
  title: 'Rewards, deposits and withdrawals of nominators, pool by pool',
  path: '/api/v3/staking/nominatorPools/nominatorEvents',
  index: {
    columns: 'nominator_pool_events (pool_address, tx_now desc, tx_lt desc, event_index desc)',
    of: 'utime',
  },
  record: nominatorEvent,
  // A transaction gives a nominator one event of each type at most.
  position: { utime: 'utime', lt: 'tx_lt', id: ['tx_hash', 'nominator_address', 'type'] },
  tables: { nominator_events },
  rows: oneRow(nominator_events, nominatorEvent),
});
