import * as z from 'zod';
import { account, addresses, optionalHash, int, requiredInt64, wideDigits } from '../src/records/members.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { elsewhere, extraOutside, rowLayoutOf } from '../src/dataset/declaration/record.ts';
import { multisig_wallets } from '../src/tables/ton/multisig.ts';
import { multisigOrder } from '../src/records/multisig-order.ts';

/** One element of `multisigs` of GET /api/v3/multisig/wallets. */
export const multisigWallet = z.strictObject({
  address: account,
  next_order_seqno: wideDigits,
  threshold: int,
  signers: addresses,
  proposers: addresses,
  last_transaction_lt: requiredInt64,
  code_hash: optionalHash,
  data_hash: optionalHash,
  // They come without their actions, and are a dataset of their own.
  orders: elsewhere(z.array(multisigOrder).nullish()),
});

const rowLayout = rowLayoutOf(multisig_wallets, multisigWallet);

export default defineCollection({
  title: 'Wallets that several people sign for: signers, proposers, threshold',
  limitations:
    'multisig wallets that neither the watch list nor an indexed action names: no endpoint lists them',
  tables: { multisig_wallets },
  walks: [
    lookup({
      path: '/api/v3/multisig/wallets',
      index: 'multisig (address)',
      params: { include_orders: false, sort: 'asc' },
      shape: { member: 'multisigs' },
      batch: { param: 'address', limited: true },
      record: multisigWallet,
      id: ['address'],
      rows: (record, extra, put) => put(rowLayout, record, {}, extraOutside(extra, ['orders'])),
      answers: { key: 'address', lt: 'last_transaction_lt' },
      refreshSeconds: 3600,
      subjects: {
        watched: true,
        seenIn: [
          { relation: 'etl.seen_multisigs', key: 'address', time: 'utime' },
          { relation: 'ton.multisig_orders', key: 'multisig_address', time: 'loaded_at' },
        ],
      },
    }),
  ],
});
