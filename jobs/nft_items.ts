import { nftItem, type NftItem } from '../src/records/schemas/nft-item.ts';
import { defineCollection, list, lookup, type WalkSpec } from '../src/dataset/collection.ts';
import { nft_collections } from '../src/db/schema/nft-collections.ts';
import { nft_items } from '../src/db/schema/nft-items.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { offset } from '../src/dataset/paginators/offset.ts';
import { nftItemRows } from '../src/records/rows/nft-item.ts';

// Never with `sort_by_last_transaction_lt`: the list changes under the walk.
const items: WalkSpec<NftItem> = {
  endpoint: { path: '/api/v3/nft/items' },
  shape: { member: 'nft_items' },
  record: nftItem,
  id: ['address'],
  rows: (record, extra) => ({ ...nftItemRows(record, extra) }),
};

export default defineCollection({
  title:
    'NFT items: owner, sale or auction, content and collection of each that the list reaches or that moved',
  blind: 'owners between two readings, and items beyond the reach of the list that no indexed transfer names',
  tables: { nft_items, nft_collections },
  walks: [
    list({ ...items, paginator: offset() }),
    lookup({
      ...items,
      paginator: batches({ param: 'address', limited: true }),
      answers: { key: 'address', lt: 'last_transaction_lt' },
      subjects: {
        watched: false,
        seenIn: [{ relation: 'ton.nft_transfers', key: 'nft_address', lt: 'transaction_lt', time: 'utime' }],
      },
    }),
  ],
});
