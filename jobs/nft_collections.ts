import { nftCollection } from '../src/records/schemas/nft-item.ts';
import { defineCollection, list } from '../src/dataset/collection.ts';
import { nft_collections } from '../src/db/schema/nft-collections.ts';
import { offset } from '../src/dataset/paginators/offset.ts';
import { nftCollectionRow } from '../src/records/rows/nft-item.ts';

export default defineCollection({
  title: 'Collections of NFT items: owner, number of items and content of each',
  blind: 'what a collection was before it was read, and changes between two scans',
  tables: { nft_collections },
  walks: [
    list({
      endpoint: { path: '/api/v3/nft/collections' },
      shape: { member: 'nft_collections' },
      paginator: offset(),
      record: nftCollection,
      id: ['address'],
      rows: (record, extra) => ({ nft_collections: [nftCollectionRow(record, extra)] }),
    }),
  ],
});
