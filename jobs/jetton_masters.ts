import * as z from 'zod';
import {
  account,
  optionalAddress,
  optionalHash,
  digits,
  flag,
  freeForm,
  requiredInt64,
} from '../src/records/members.ts';
import { defineCollection, list } from '../src/dataset/collection.ts';
import { givenLayout, rowLayoutOf } from '../src/dataset/declaration/record.ts';
import { jetton_descriptions } from '../src/tables/ton/address-book.ts';
import { jetton_masters } from '../src/tables/ton/jettons-and-nfts.ts';
import { contentDecimals, contentDescription, contentText } from '../src/records/tokens.ts';

/** One element of `jetton_masters` of GET /api/v3/jetton/masters. */
export const jettonMaster = z.strictObject({
  address: account,
  total_supply: digits,
  mintable: flag,
  admin_address: optionalAddress,
  jetton_content: freeForm,
  jetton_wallet_code_hash: optionalHash,
  code_hash: optionalHash,
  data_hash: optionalHash,
  last_transaction_lt: requiredInt64,
});

const masters = rowLayoutOf(jetton_masters, jettonMaster);
const descriptions = givenLayout(jetton_descriptions);

export default defineCollection({
  title: 'Jettons (fungible tokens): supply, name, symbol, decimals and content of each master contract',
  limitations:
    'earlier supplies of a jetton; changes between two scans, except those that the next scan shows',
  tables: { jetton_masters, jetton_descriptions },
  walks: [
    list({
      path: '/api/v3/jetton/masters',
      index: 'jetton_masters (id)',
      shape: { member: 'jetton_masters' },
      record: jettonMaster,
      id: ['address'],
      // Name, symbol and decimals are columns besides the content that contains them.
      rows: (record, extra, put, { at }) => {
        const description = {
          ...contentDescription(record.jetton_content),
          symbol: contentText(record.jetton_content, 'symbol'),
          decimals: contentDecimals(record.jetton_content),
        };
        const { name, symbol, decimals } = description;
        put(masters, record, { name, symbol, decimals }, extra);
        const { address, mintable, admin_address, last_transaction_lt } = record;
        const { jetton_wallet_code_hash, code_hash } = record;
        const contract = { address, mintable, admin_address, jetton_wallet_code_hash, code_hash };
        put(descriptions, null, { ...contract, ...description, last_transaction_lt, first_seen: at });
      },
    }),
  ],
});
