import { defineCollection, list, lookup, type WalkSpec } from '../src/dataset/collection.ts';
import { nft_collections, nft_items } from '../src/tables/ton/jettons-and-nfts.ts';
import { nft_descriptions } from '../src/tables/ton/address-book.ts';
import { nftItem, nftItemRows, type NftItem } from '../src/records/tokens.ts';

// Never with `sort_by_last_transaction_lt`: the list would change during the walk.
const items: WalkSpec<NftItem> = {
  path: '/api/v3/nft/items',
  index: 'nft_items (id)',
  shape: { member: 'nft_items' },
  record: nftItem,
  id: ['address'],
  rows: nftItemRows,
};

export default defineCollection({
  title:
    'NFT items: owner, sale or auction, content and collection of each in the readable part of the list, or with transfers',
  limitations:
    'owners between two readings, and items beyond the readable part of the list that no indexed transfer names',
  tables: { nft_items, nft_collections, nft_descriptions },
  walks: [
    list(items),
    lookup({
      ...items,
      index: 'nft_items (address)',
      batch: { param: 'address', limited: true },
      answers: { key: 'address', lt: 'last_transaction_lt' },
      subjects: {
        watched: false,
        seenIn: [{ relation: 'ton.nft_transfers', key: 'nft_address', lt: 'transaction_lt', time: 'utime' }],
      },
    }),
  ],
});
