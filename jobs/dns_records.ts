import * as z from 'zod';
import { account, optionalAddress, optionalKey } from '../src/records/members.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { dns_records } from '../src/tables/ton/dns-records.ts';
import { DAY } from '../src/range.ts';

/** One element of `records` of GET /api/v3/dns/records. */
export const dnsRecord = z.strictObject({
  nft_item_address: account,
  nft_item_owner: optionalAddress,
  domain: z.string(),
  dns_next_resolver: optionalAddress,
  dns_wallet: optionalAddress,
  dns_site_adnl: optionalKey,
  dns_storage_bag_id: optionalKey,
});

const records = {
  path: '/api/v3/dns/records',
  index: 'dns_entries (dns_wallet, length(domain))',
  params: { limit: 1000 },
  shape: { member: 'records' },
  record: dnsRecord,
  id: ['nft_item_address'],
  rows: oneRow(dns_records, dnsRecord),
  refreshSeconds: DAY,
  unknownForSeconds: DAY,
} as const;

export default defineCollection({
  title: 'Domains and their targets: of watched wallets, and of every domain that an address book named',
  limitations:
    'domains that no watched wallet holds and no address book named, and earlier targets of a domain',
  tables: { dns_records },
  walks: [
    lookup({
      ...records,
      batch: { param: 'wallet', most: 1 },
      answers: { key: 'dns_wallet' },
      subjects: { watched: true, seenIn: [] },
    }),
    lookup({
      ...records,
      name: 'of_domains',
      index: 'none: all domains are scanned',
      batch: { param: 'domain', most: 1 },
      answers: { key: 'domain' },
      subjects: {
        watched: false,
        seenIn: [{ relation: 'ton.address_book', key: 'domain', time: 'loaded_at' }],
      },
    }),
  ],
});
