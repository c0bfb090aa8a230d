import * as z from 'zod';
import {
  hash,
  optionalAddress,
  optionalKey,
  count,
  digits,
  requiredInt64,
  requiredSeconds,
} from '../src/records/members.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { stakingEvents } from '../src/records/staking.ts';
import { defineJob } from '../src/dataset/job.ts';
import { window } from '../src/dataset/paginators/forward.ts';
import { validator_events } from '../src/tables/ton/validators-and-pools.ts';

/**
 * One element of `events` of GET /api/v3/validators/events: what the elector did with a stake. Members that
 * do not apply to the event's type are omitted.
 */
export const validatorEvent = z.strictObject({
  tx_hash: hash,
  tx_lt: requiredInt64,
  utime: requiredSeconds,
  type: z.string(),
  stake_holder_address: optionalAddress,
  validator_pubkey: optionalKey,
  adnl_addr: optionalKey,
  election_id: count,
  query_id: digits,
  amount: digits,
  reason: count,
});

export default defineJob({
  ...stakingEvents,
  title: 'What the elector did with the stakes of validators',
  core: true,
  path: '/api/v3/validators/events',
  // The endpoint accepts no logical times; the table is small.
  index: { columns: 'none on tx_now alone: all of validator_events, one elector account’s', of: 'none' },
  paginator: window({ offsets: true }),
  record: validatorEvent,
  position: { utime: 'utime', lt: 'tx_lt', id: ['tx_hash'] },
  tables: { validator_events },
  rows: oneRow(validator_events, validatorEvent),
});
