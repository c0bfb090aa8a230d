import { metadataEntry } from '../src/records/schemas/address-entry.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { token_metadata } from '../src/db/schema/address-book.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { metadataRow } from '../src/records/rows/address-entry.ts';
import { DAY } from '../src/range.ts';

export default defineCollection({
  title:
    'What the indexer found out about tokens, on chain and off: name, symbol, decimals, picture, warnings',
  blind: 'what it said before, and tokens that no indexed row names',
  carriedAs: 'metadata',
  tables: { token_metadata },
  walks: [
    lookup({
      endpoint: { path: '/api/v3/metadata' },
      shape: 'map',
      paginator: batches({ param: 'address' }),
      record: metadataEntry,
      id: ['address'],
      rows: (record, extra) => ({ token_metadata: [metadataRow(record, extra)] }),
      answers: { key: 'address' },
      refresh: DAY,
      unknownFor: DAY,
      subjects: {
        watched: true,
        seenIn: [
          { relation: 'ton.jetton_masters', key: 'address', time: 'loaded_at' },
          { relation: 'ton.nft_collections', key: 'address', time: 'loaded_at' },
          { relation: 'ton.jetton_transfers', key: 'jetton_master', time: 'utime' },
          { relation: 'ton.nft_transfers', key: 'nft_address', time: 'utime' },
        ],
      },
    }),
  ],
});
