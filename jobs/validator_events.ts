import { eventPosition } from '../src/records/schemas/event-position.ts';
import { validatorEvent } from '../src/records/schemas/validator-event.ts';
import { validator_events } from '../src/db/schema/validator-events.ts';
import { CROSS_CHECKED } from '../src/dataset/grade.ts';
import { defineJob } from '../src/dataset/job.ts';
import { window } from '../src/dataset/paginators/window.ts';
import { validatorEventRow } from '../src/records/rows/validator-event.ts';

export default defineJob({
  title: 'What the elector did with the stakes of validators',
  core: true,
  path: '/api/v3/validators/events',
  params: { x_no_address_book: true },
  list: 'events',
  paginator: window(),
  record: validatorEvent,
  position: eventPosition,
  tables: { validator_events },
  rows: (record, extra) => ({ validator_events: [validatorEventRow(record, extra)] }),
  // Served from a copy of the database that lags by minutes.
  delay: 900,
  // No checksum: an hour later a reading of another replica has to agree.
  maturity: 3600,
  checks: { 'cross-checks': { transaction: 'tx_hash' }, 'second-reading': true },
  grade: CROSS_CHECKED,
});
