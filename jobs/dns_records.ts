import { dnsRecord } from '../src/records/schemas/multisig.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { dns_records } from '../src/db/schema/dns-records.ts';
import { oneByOne } from '../src/dataset/paginators/lookup.ts';
import { dnsRow } from '../src/records/rows/multisig.ts';
import { DAY } from '../src/range.ts';

const records = {
  endpoint: { path: '/api/v3/dns/records' },
  params: { limit: 1000 },
  shape: { member: 'records' },
  record: dnsRecord,
  id: ['nft_item_address'],
  refresh: DAY,
  unknownFor: DAY,
} as const;

export default defineCollection({
  title: 'Domains and what they lead to: of watched wallets, and of every domain that an address book named',
  blind: 'domains of wallets that nobody watches or named, and where a domain led before',
  tables: { dns_records },
  walks: [
    lookup({
      ...records,
      paginator: oneByOne({ param: 'wallet' }),
      rows: (record, extra) => ({ dns_records: [dnsRow(record, extra)] }),
      answers: { key: 'dns_wallet' },
      subjects: { watched: true, seenIn: [] },
    }),
    lookup({
      ...records,
      name: 'of_domains',
      paginator: oneByOne({ param: 'domain' }),
      rows: (record, extra) => ({ dns_records: [dnsRow(record, extra)] }),
      answers: { key: 'domain' },
      subjects: {
        watched: false,
        seenIn: [{ relation: 'ton.address_book', key: 'domain', time: 'loaded_at' }],
      },
    }),
  ],
});
