import { fullAccountState } from '../src/records/schemas/v2.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { extended_account_states } from '../src/db/schema/extended-account-states.ts';
import { oneByOne } from '../src/dataset/paginators/lookup.ts';
import { extendedStateRow } from '../src/records/rows/v2.ts';

const states = {
  endpoint: { method: 'getExtendedAddressInformation' },
  shape: 'one',
  record: fullAccountState,
  id: ['address.account_address', 'block_id.seqno'],
} as const;

export default defineCollection({
  title:
    'Watched accounts as nodes take them apart: kind of wallet, seqno, key; with a range, after each of their transactions',
  blind:
    'states between two looks, where no indexed transaction tells of them; blocks that nodes have dropped',
  tables: { extended_account_states },
  walks: [
    lookup({
      ...states,
      paginator: oneByOne({ param: 'address' }),
      rows: (record, extra) => ({ extended_account_states: [extendedStateRow(record, extra)] }),
      answers: { key: 'address.account_address', lt: 'last_transaction_id.lt' },
      subjects: { watched: true, seenIn: [], probed: true },
    }),
    // As of the masterchain block of each indexed transaction of theirs.
    lookup({
      ...states,
      name: 'history',
      paginator: oneByOne(),
      rows: (record, extra) => ({ extended_account_states: [extendedStateRow(record, extra)] }),
      answers: { key: 'address.account_address' },
      subjects: {
        watched: false,
        ofRange: true,
        seenIn: [{ relation: 'etl.watched_moves', key: 'key', fields: ['address', 'seqno'], time: 'utime' }],
      },
    }),
  ],
});
