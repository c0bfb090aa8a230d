import * as z from 'zod';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { elsewhere, oneRow } from '../src/dataset/declaration/record.ts';
import { DAY } from '../src/range.ts';
import { account, optionalAddress, digits, flag, freeForm, seconds } from '../src/records/members.ts';
import { dns_auctions } from '../src/tables/ton/dns-records.ts';

/** One element of `auctions` of GET /api/v3/dns/activeAuctions. */
export const dnsAuction = z.strictObject({
  nft_item_address: account,
  domain: z.string(),
  max_bid_address: optionalAddress,
  max_bid_amount: digits,
  auction_end_time: seconds,
  last_fill_up_time: seconds,
  finished: flag,
  // The server may add the item, which no table stores.
  nft_item: elsewhere(freeForm),
});

export default defineCollection({
  title: 'Auctions of domains: highest bid, bidder and end',
  limitations:
    'auctions whose leading bidder neither the watch list nor an indexed action names, bids between two look-ups, and beyond the first 1000 of a bidder',
  tables: { dns_auctions },
  walks: [
    lookup({
      path: '/api/v3/dns/activeAuctions',
      index: 'none: all domains are scanned',
      params: { limit: 1000 },
      shape: { member: 'auctions' },
      record: dnsAuction,
      id: ['nft_item_address'],
      rows: oneRow(dns_auctions, dnsAuction),
      batch: { param: 'bidder', most: 1 },
      answers: { key: 'max_bid_address' },
      refreshSeconds: 3600,
      unknownForSeconds: DAY,
      subjects: {
        watched: true,
        seenIn: [{ relation: 'etl.seen_bidders', key: 'address', lt: 'lt', time: 'utime' }],
      },
    }),
  ],
});
