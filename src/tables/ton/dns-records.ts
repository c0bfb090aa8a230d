import { boolean, text } from 'drizzle-orm/pg-core';
import { address, amount, moment, describe, ton, restColumns } from '../describe.ts';

export const dns_records = ton.table('dns_records', {
  nft_item_address: address().primaryKey(),
  nft_item_owner: address(),
  domain: text().notNull(),
  dns_next_resolver: address(),
  dns_wallet: address(),
  dns_site_adnl: text(),
  dns_storage_bag_id: text(),
  ...restColumns(),
});

describe(dns_records, {
  comment:
    'Domains and what they lead to: one row each, as it was when a wallet that it leads to was looked up last.',
  from: 'records[].*',
  columns: {
    nft_item_address: 'Item that is the domain, raw form: the key.',
    nft_item_owner: 'Account that owns the domain, raw form; null if it has no owner.',
    domain: 'The domain itself, such as foundation.ton.',
    dns_next_resolver: 'Contract that resolves names below it, raw form; null if there is none.',
    dns_wallet: 'Account that the domain leads to, raw form; null if there is none.',
    dns_site_adnl:
      'Address of the site in the network’s own addresses (ADNL), 64 upper-case hex digits; null if there is none.',
    dns_storage_bag_id:
      'Bag of files that the domain leads to, 64 upper-case hex digits; null if there is none.',
  },
  conflict: { kind: 'replace' },
});

export const dns_auctions = ton.table('dns_auctions', {
  nft_item_address: address().primaryKey(),
  domain: text().notNull(),
  max_bid_address: address(),
  max_bid_amount: amount(),
  auction_end_time: moment(),
  last_fill_up_time: moment(),
  finished: boolean(),
  ...restColumns(),
});

describe(dns_auctions, {
  comment:
    'Auctions of domains: one row each, as it was when its leading bidder was looked up last. Read from GET /api/v3/dns/activeAuctions, which some servers do not have. A row stays after its domain was claimed; the time of its end tells whether it still runs.',
  from: 'auctions[].*',
  columns: {
    nft_item_address: 'Item that is the auctioned domain, raw form: the key.',
    domain: 'The auctioned domain itself, such as foundation.ton.',
    max_bid_address: 'Account whose bid is the highest, raw form: it gets the domain at the end.',
    max_bid_amount: 'The highest bid, nanotons.',
    auction_end_time: 'When the auction ends, UTC; a late bid moves it.',
    last_fill_up_time:
      'When the domain was last paid for, UTC: a year later any account may put it up again.',
    finished:
      'True if the end had passed when the auction was looked up, and the winner has not claimed the domain.',
  },
  conflict: { kind: 'replace' },
});
