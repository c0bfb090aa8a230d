import * as z from 'zod';
import { account, optionalAddress, optionalHash, freeForm, int64, seconds } from '../src/records/members.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { elsewhere, oneRow } from '../src/dataset/declaration/record.ts';
import { nft_sales } from '../src/tables/ton/jettons-and-nfts.ts';

/** One element of `nft_sales` of GET /api/v3/nft/sales. */
export const nftSale = z.strictObject({
  type: z.string(),
  address: account,
  nft_address: optionalAddress,
  nft_owner_address: optionalAddress,
  marketplace_address: optionalAddress,
  created_at: seconds,
  last_transaction_lt: int64,
  code_hash: optionalHash,
  data_hash: optionalHash,
  details: freeForm,
  // It is not stored, because it is incomplete: without its sale and its owner.
  nft_item: elsewhere(freeForm),
});

export default defineCollection({
  title: 'Sales and auctions of NFT items: price, bids, fees, royalties',
  limitations:
    'sales that ended between two readings of the item, if no stored action names them; bids between two look-ups',
  tables: { nft_sales },
  walks: [
    lookup({
      path: '/api/v3/nft/sales',
      index: 'getgems_nft_sales (address), getgems_nft_auctions (address), telemint_nft_items (address)',
      shape: { member: 'nft_sales' },
      batch: { param: 'address' },
      record: nftSale,
      id: ['address'],
      rows: oneRow(nft_sales, nftSale),
      answers: { key: 'address', lt: 'last_transaction_lt' },
      refreshSeconds: 3600,
      subjects: {
        watched: false,
        seenIn: [
          { relation: 'ton.nft_items', key: 'sale_contract_address', time: 'loaded_at' },
          { relation: 'ton.nft_items', key: 'auction_contract_address', time: 'loaded_at' },
          { relation: 'etl.seen_telemints', key: 'address', lt: 'lt', time: 'loaded_at' },
          { relation: 'etl.seen_sales', key: 'address', lt: 'lt', time: 'utime' },
        ],
      },
    }),
  ],
});
