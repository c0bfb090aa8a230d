import { eventPosition } from '../src/records/schemas/event-position.ts';
import { nominatorPoolEvent } from '../src/records/schemas/nominator-pool-event.ts';
import { nominator_pool_events } from '../src/db/schema/nominator-pool-events.ts';
import { CROSS_CHECKED } from '../src/dataset/grade.ts';
import { defineJob } from '../src/dataset/job.ts';
import { window } from '../src/dataset/paginators/window.ts';
import { nominatorPoolEventRow } from '../src/records/rows/nominator-pool-event.ts';

export default defineJob({
  title: "Rewards, penalties, deposits and withdrawals of nominator pools' validators, pool by pool",
  path: '/api/v3/staking/nominatorPools/validatorEvents',
  params: { x_no_address_book: true },
  list: 'events',
  paginator: window(),
  record: nominatorPoolEvent,
  position: eventPosition,
  tables: { nominator_pool_events },
  rows: (record, extra) => ({ nominator_pool_events: [nominatorPoolEventRow(record, extra)] }),
  scopes: { param: 'pool', from: 'pools' },
  // Served from a copy of the database that lags by minutes.
  delay: 900,
  // No checksum: an hour later a reading of another replica has to agree.
  maturity: 3600,
  checks: { 'cross-checks': { transaction: 'tx_hash' }, 'second-reading': true },
  grade: CROSS_CHECKED,
});
