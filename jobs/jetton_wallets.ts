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
import { type RowsOf, isEmpty, orNull, type Extra } from '../src/dataset/declaration/record.ts';
import { jetton_wallets } from '../src/tables/ton/jettons-and-nfts.ts';

/** One element of `jetton_wallets` of GET /api/v3/jetton/wallets. */
export const jettonWallet = z.strictObject({
  address: account,
  balance: digits,
  owner: optionalAddress,
  jetton: optionalAddress,
  last_transaction_lt: requiredInt64,
  code_hash: optionalHash,
  data_hash: optionalHash,
  mintless_info: z
    .strictObject({
      amount: digits,
      start_from: count,
      expire_at: count,
      custom_payload_api_uri: texts,
    })
    .nullish(),
});

type JettonWallet = z.output<typeof jettonWallet>;

const tables = { jetton_wallets };

// Never with `sort`: sorted by balance, the list changes during the walk.
const wallets: WalkSpec<JettonWallet> = {
  path: '/api/v3/jetton/wallets',
  index: 'jetton_wallets (id)',
  shape: { member: 'jetton_wallets' },
  record: jettonWallet,
  id: ['address'],
  rows: walletRows,
};

export default defineCollection({
  title:
    'Who holds how much of which jetton: every jetton wallet in the readable part of the list, or with indexed transfers',
  limitations:
    'balances between two readings, and wallets beyond the reach of the list that no indexed transfer, burn or mint names',
  tables,
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

/** A mintless_info without values is kept in `extra`, because its columns cannot show it. */
function walletRows(
  { mintless_info: mintless, ...columns }: JettonWallet,
  extra: Extra,
): RowsOf<typeof tables> {
  const kept = isEmpty(mintless) ? { ...extra, mintless_info: {} } : extra;
  const row = {
    ...columns,
    mintless_amount: mintless?.amount,
    mintless_start_from: mintless?.start_from,
    mintless_expire_at: mintless?.expire_at,
    mintless_custom_payload_api_uri: mintless?.custom_payload_api_uri ?? null,
    extra: orNull(kept),
  };
  return { jetton_wallets: [row] };
}
