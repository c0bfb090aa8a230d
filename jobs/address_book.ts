import * as z from 'zod';
import { account, text, texts } from '../src/records/members.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { oneRow } from '../src/dataset/declaration/record.ts';
import { address_book } from '../src/tables/ton/address-book.ts';
import { DAY } from '../src/range.ts';

/** An entry of an `address_book`, with its key as `address`. */
export const bookEntry = z.strictObject({
  address: account,
  user_friendly: text,
  domain: text,
  interfaces: texts,
});

export default defineCollection({
  title: 'Names of accounts: friendly form, domain, kinds of contract',
  limitations: 'earlier names of an account, and accounts that are neither watched nor seen in indexed rows',
  piggybackedAs: 'address_book',
  tables: { address_book },
  walks: [
    lookup({
      path: '/api/v3/addressBook',
      index: 'latest_account_states (account), dns_entries (dns_wallet, length(domain))',
      shape: 'map',
      batch: { param: 'address' },
      record: bookEntry,
      id: ['address'],
      rows: oneRow(address_book, bookEntry),
      answers: { key: 'address' },
      refreshSeconds: DAY,
      subjects: {
        watched: true,
        onlyIfSeen: true,
        seenIn: [{ relation: 'ton.transactions', key: 'account', time: 'utime' }],
      },
    }),
  ],
});
