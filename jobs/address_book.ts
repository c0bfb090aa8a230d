import { bookEntry } from '../src/records/schemas/address-entry.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { address_book } from '../src/db/schema/address-book.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { bookRow } from '../src/records/rows/address-entry.ts';
import { DAY } from '../src/range.ts';

export default defineCollection({
  title: 'Names of accounts: friendly form, domain, kinds of contract',
  blind: 'names that an account had before, and accounts that nobody has named or seen',
  carriedAs: 'address_book',
  tables: { address_book },
  walks: [
    lookup({
      endpoint: { path: '/api/v3/addressBook' },
      shape: 'map',
      paginator: batches({ param: 'address', most: 1000 }),
      record: bookEntry,
      id: ['address'],
      rows: (record, extra) => ({ address_book: [bookRow(record, extra)] }),
      answers: { key: 'address' },
      refresh: DAY,
      subjects: {
        watched: true,
        onlyIfSeen: true,
        seenIn: [{ relation: 'ton.transactions', key: 'account', time: 'utime' }],
      },
    }),
  ],
});
