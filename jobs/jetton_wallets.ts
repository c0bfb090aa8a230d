import * as z from 'zod';
import {
  account,
  optionalAddress,
  optionalHash,
  count,
  digits,
  requiredInt64,
  texts,
} from '../src/records/members.ts';
import { defineCollection, list, lookup, type WalkSpec } from '../src/dataset/collection.ts';
import { oneRow, phase } from '../src/dataset/declaration/record.ts';
import { jetton_wallets } from '../src/tables/ton/jettons-and-nfts.ts';

const mintlessInfo = z.strictObject({
  amount: digits,
  start_from: count,
  expire_at: count,
  custom_payload_api_uri: texts,
});

/** One element of `jetton_wallets` of GET /api/v3/jetton/wallets. */
export const jettonWallet = z.strictObject({
  address: account,
  balance: digits,
  owner: optionalAddress,
  jetton: optionalAddress,
  last_transaction_lt: requiredInt64,
  code_hash: optionalHash,
  data_hash: optionalHash,
  mintless_info: phase('mintless_', mintlessInfo.nullish()),
});

// Never with `sort`: sorted by balance, the list changes during the walk.
const wallets: WalkSpec<z.output<typeof jettonWallet>> = {
  path: '/api/v3/jetton/wallets',
  index: 'jetton_wallets (id)',
  shape: { member: 'jetton_wallets' },
  record: jettonWallet,
  id: ['address'],
  rows: oneRow(jetton_wallets, jettonWallet),
};

export default defineCollection({
  title:
    'Who holds how much of which jetton: every jetton wallet in the readable part of the list, or with indexed transfers',
  limitations:
    'balances between two readings, and wallets beyond the reach of the list that no indexed transfer, burn or mint names',
  tables: { jetton_wallets },
  walks: [
    list(wallets),
    lookup({
      ...wallets,
      index: 'jetton_wallets (address)',
      batch: { param: 'address', limited: true },
      answers: { key: 'address', lt: 'last_transaction_lt' },
      subjects: {
        watched: false,
        seenIn: [
          { relation: 'ton.jetton_transfers', key: 'source_wallet', lt: 'transaction_lt', time: 'utime' },
          { relation: 'ton.jetton_burns', key: 'jetton_wallet', lt: 'transaction_lt', time: 'utime' },
          { relation: 'etl.seen_jetton_wallets', key: 'address', lt: 'lt', time: 'utime' },
        ],
      },
    }),
  ],
});
