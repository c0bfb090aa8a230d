import { defineCollection, list } from '../src/dataset/collection.ts';
import { nft_collections } from '../src/tables/ton/nft-collections.ts';
import { nftCollection, nftCollectionRow } from '../src/records/tokens.ts';

export default defineCollection({
  title: 'Collections of NFT items: owner, number of items and content of each',
  limitations: 'earlier states of a collection, and changes between two scans',
  tables: { nft_collections },
  walks: [
    list({
      path: '/api/v3/nft/collections',
      index: 'none: all collections are sorted by id',
      shape: { member: 'nft_collections' },
      record: nftCollection,
      id: ['address'],
      rows: (record, extra) => ({ nft_collections: [nftCollectionRow(record, extra)] }),
    }),
  ],
});
