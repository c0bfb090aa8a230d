import { multisigWallet } from '../src/records/schemas/multisig.ts';
import { defineCollection, lookup } from '../src/dataset/collection.ts';
import { multisig_wallets } from '../src/db/schema/multisig.ts';
import { batches } from '../src/dataset/paginators/lookup.ts';
import { multisigWalletRow } from '../src/records/rows/multisig.ts';

export default defineCollection({
  title: 'Wallets that several people sign for: signers, proposers, threshold',
  blind: 'multisig wallets that neither the watch list nor an indexed action names: no endpoint lists them',
  tables: { multisig_wallets },
  walks: [
    lookup({
      endpoint: { path: '/api/v3/multisig/wallets' },
      params: { include_orders: false, sort: 'asc' },
      shape: { member: 'multisigs' },
      paginator: batches({ param: 'address', limited: true }),
      record: multisigWallet,
      id: ['address'],
      rows: (record, extra) => ({ multisig_wallets: [multisigWalletRow(record, extra)] }),
      answers: { key: 'address', lt: 'last_transaction_lt' },
      refresh: 3600,
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
