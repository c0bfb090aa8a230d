import { address, amount, boolean, moment, restColumns, text, tonTable } from '../describe.ts';

export const dns_records = tonTable('dns_records', {
  comment:
    'Domains and what they lead to: one row each, as it was when a wallet that it leads to was looked up last.',
  from: 'records[].*',
  columns: {
    nft_item_address: address('Item that is the domain, raw form: the key.').primaryKey(),
    nft_item_owner: address('Account that owns the domain, raw form; null if it has no owner.'),
    domain: text('The domain itself, such as foundation.ton.').notNull(),
    dns_next_resolver: address('Contract that resolves names below it, raw form; null if there is none.'),
    dns_wallet: address('Account that the domain leads to, raw form; null if there is none.'),
    dns_site_adnl: text(
      'Address of the site in the network’s own addresses (ADNL), 64 upper-case hex digits; null if there is none.',
    ),
    dns_storage_bag_id: text(
      'Bag of files that the domain leads to, 64 upper-case hex digits; null if there is none.',
    ),
    ...restColumns(),
  },
  conflict: { kind: 'replace' },
});

export const dns_auctions = tonTable('dns_auctions', {
  comment:
    'Auctions of domains: one row each, as it was when its leading bidder was looked up last. Read from GET /api/v3/dns/activeAuctions, which some servers do not have. A row stays after its domain was claimed; the time of its end tells whether it still runs.',
  from: 'auctions[].*',
  columns: {
    nft_item_address: address('Item that is the auctioned domain, raw form: the key.').primaryKey(),
    domain: text('The auctioned domain itself, such as foundation.ton.').notNull(),
    max_bid_address: address('Account whose bid is the highest, raw form: it gets the domain at the end.'),
    max_bid_amount: amount('The highest bid, nanotons.'),
    auction_end_time: moment('When the auction ends, UTC; a late bid moves it.'),
    last_fill_up_time: moment(
      'When the domain was last paid for, UTC: a year later any account may put it up again.',
    ),
    finished: boolean(
      'True if the end had passed when the auction was looked up, and the winner has not claimed the domain.',
    ),
    ...restColumns(),
  },
  conflict: { kind: 'replace' },
});
