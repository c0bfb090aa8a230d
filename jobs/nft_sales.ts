import { nftSale } from '../src/records/schemas/nft-sale.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { nft_collections } from '../src/db/schema/nft-collections.ts';
import { nft_items } from '../src/db/schema/nft-items.ts';
import { nft_sales } from '../src/db/schema/nft-sales.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { saleRows } from '../src/records/rows/nft-sale.ts';

export default defineCollection({
  title: 'Sales and auctions of NFT items: price, bids, fees, royalties',
  blind: 'sales that ended between two readings of the item; bids between two look-ups',
  tables: { nft_sales, nft_items, nft_collections },
  walks: [
    lookup({
      endpoint: { path: '/api/v3/nft/sales' },
      shape: { member: 'nft_sales' },
      paginator: batches({ param: 'address' }),
      record: nftSale,
      id: ['address'],
      rows: (record, extra) => ({ ...saleRows(record, extra) }),
      answers: { key: 'address', lt: 'last_transaction_lt' },
      refresh: 3600,
      subjects: {
        watched: false,
        seenIn: [
          { relation: 'ton.nft_items', key: 'sale_contract_address', time: 'loaded_at' },
          { relation: 'ton.nft_items', key: 'auction_contract_address', time: 'loaded_at' },
        ],
      },
    }),
  ],
});
