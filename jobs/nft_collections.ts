import { defineCollection, list } from '../src/dataset/collection.ts';
import { nft_collections } from '../src/tables/ton/jettons-and-nfts.ts';
import { nft_descriptions } from '../src/tables/ton/address-book.ts';
import { nftCollection, nftCollectionRows } from '../src/records/tokens.ts';

export default defineCollection({
  title: 'Collections of NFT items: owner, number of items and content of each',
  limitations: 'earlier owners of a collection, and changes between two scans',
  tables: { nft_collections, nft_descriptions },
  walks: [
    list({
      path: '/api/v3/nft/collections',
      index: 'none: all collections are sorted by id',
      shape: { member: 'nft_collections' },
      record: nftCollection,
      id: ['address'],
      rows: nftCollectionRows,
    }),
  ],
});
