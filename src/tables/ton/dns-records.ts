import { jsonb, text } from 'drizzle-orm/pg-core';
import { address, loadedAt } from '../columns.ts';
import { describe } from '../describe.ts';
import { ton } from '../schemas.ts';

export const dns_records = ton.table('dns_records', {
  nft_item_address: address().primaryKey(),
  nft_item_owner: address(),
  domain: text().notNull(),
  dns_next_resolver: address(),
  dns_wallet: address(),
  dns_site_adnl: text(),
  dns_storage_bag_id: text(),
  extra: jsonb(),
  loaded_at: loadedAt(),
});

describe(dns_records, {
  comment:
    'Domains and what they lead to: one row each, as it was when a wallet that it leads to was looked up last.',
  columns: {
    nft_item_address: 'Item that is the domain, raw form: the key. From records[].nft_item_address.',
    nft_item_owner:
      'Account that owns the domain, raw form; null if it has no owner. From records[].nft_item_owner.',
    domain: 'The domain itself, such as foundation.ton. From records[].domain.',
    dns_next_resolver:
      'Contract that resolves names below it, raw form; null if there is none. From records[].dns_next_resolver.',
    dns_wallet:
      'Account that the domain leads to, raw form; null if there is none. From records[].dns_wallet.',
    dns_site_adnl:
      'Address of the site in the network’s own addresses (ADNL), 64 upper-case hex digits; null if there is none. From records[].dns_site_adnl.',
    dns_storage_bag_id:
      'Bag of files that the domain leads to, 64 upper-case hex digits; null if there is none. From records[].dns_storage_bag_id.',
    extra:
      'Members of records[] that this version of the program has no column for, by dotted path; null if there are none.',
    loaded_at: 'When this row of dns_records was last written by the program, wall time, UTC.',
  },
  key: ['nft_item_address'],
  conflict: { kind: 'replace' },
  partitioned: false,
});
